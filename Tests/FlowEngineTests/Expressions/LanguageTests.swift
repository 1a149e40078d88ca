// The language itself, against CEL's definition: literals, operators, logic, names.
import FlowEngine
import Testing

@Suite struct LanguageTests {
    @Test func literals() {
        Rows.check(
            #"""
            0 => 0
            -5 => 0 - 5
            0xFF => 255
            -0xa => -10
            42u => uint(42)
            0xFFu => 255u
            7U => 7u
            9223372036854775807 => 9223372036854775806 + 1
            -9223372036854775808 => -9223372036854775807 - 1
            18446744073709551615u => 18446744073709551614u + 1u
            1.5 => 3.0 / 2.0
            .5 => 0.5
            1e3 => 1000.0
            1.5E-2 => 0.015
            -2.5e+1 => 0.0 - 25.0
            1e400 => double('Infinity')
            true => 1 == 1
            null => null
            'a' => "a"
            "it's" => 'it\'s'
            '\a\b\f\n\r\t\v\\\?\`' => "\x07\x08\x0c\x0a\x0d\x09\x0b\x5c\x3f\x60"
            '\101\x42\u0043\U00000044' => "ABCD"
            '\U0001F431' => "🐱"
            '''a'b''c''' => "a'b''c"
            """a"b""" => 'a"b'
            r'\d+\n' => '\\d+\\n'
            R"\x41" => '\\x41'
            r'''\''' => '\\'
            b'abc' => bytes('abc')
            b'\xff\377' => b"\377\xFF"
            b'ÿ' => b'\303\277'
            br'\n' => b'\\n'
            rb'\n' => b'\\n'
            B"" => bytes('')
            [] => [][?0].orValue([])
            [1, 2,] => [1] + [2]
            {} => {}
            {'a': 1, 'b': 2,} => {'b': 2, 'a': 1}
            1 // a comment => 1
            """#)
        Rows.check(
            #"""
            9223372036854775808 => !syntax@1
            -9223372036854775809 => !syntax@1
            18446744073709551616u => !syntax@1
            0x => !syntax@1
            1a => !syntax@1
            12uu => !syntax@1
            'abc => !syntax@1
            1 + 'abc => !syntax@5
            '\q' => !syntax@2
            '\u12' => !syntax@2
            '\U00110000' => !syntax@2
            '\ud800' => !syntax@2
            b'\u0041' => !syntax@3
            '\400' => !syntax@2
            1 + => !syntax@4
            (1 => !syntax@3
            [1, 2 => !syntax@6
            {'a' 1} => !syntax@6
            {'a': 1 => !syntax@8
            a b => !syntax@3
            .true() => !syntax@2
            .null => !syntax@2
            .in => !syntax@2
            1 = 2 => !syntax@3
            a & b => !syntax@3
            a | b => !syntax@3
            ${a} => !syntax@1
            “a” => !syntax@1
            a and b => !syntax@3
            not true => !syntax@1
            true ? 1 => !syntax@9
            true ?: 1 => !syntax@7
            if => !syntax@1
            while + 1 => !syntax@1
            a.true => !syntax@3
            a. => !syntax@3
            a.`x => !syntax@3
            f(1, => !syntax@5
            has(a) => !syntax@1
            has(a.b, 1) => !syntax@1
            [1].map(1, 2) => !syntax@5
            [1].all(x) => !syntax@5
            [1].map(x) => !syntax@5
            !-1 => !syntax@2
            ]  => !syntax@1
            """#)
        for empty in ["", "   ", "// only a comment"] {
            #expect { try Expression.parse(empty) } throws: { ($0 as? ExpressionError)?.kind == .syntax }
        }
    }

    @Test func arithmeticAndPrecedence() {
        Rows.check(
            """
            1 + 2 * 3 => 7
            (1 + 2) * 3 => 9
            10 - 4 - 3 => 3
            100 / 10 / 5 => 2
            7 / 2 => 3
            -7 / 2 => -3
            7 % 3 => 1
            -7 % 3 => -1
            7 % -3 => 1
            7u / 2u => 3u
            7u % 4u => 3u
            7.0 / 2.0 => 3.5
            1.0 / 0.0 => double('Infinity')
            string(0.0 / 0.0) => 'NaN'
            --5 => 5
            -(5) => -5
            -(2.5) => -2.5
            !!true => true
            'a' + 'b' => 'ab'
            b'a' + b'b' => b'ab'
            [1] + ['a'] => [1, 'a']
            1 + 2 == 3 && 2 < 3 => true
            1 < 2 == true => true
            true || false && false => true
            true ? 1 : 2 => 1
            false ? 1 : true ? 2 : 3 => 2
            (true ? false : true) ? 1 : 2 => 2
            1 + 1 in [2] => true
            !(1 in [2]) => true
            -9223372036854775808 % 1 => 0
            9223372036854775807 + 1 => !overflow@21
            -9223372036854775808 - 1 => !overflow
            9223372036854775807 * 2 => !overflow
            -9223372036854775808 / -1 => !overflow
            -9223372036854775808 % -1 => !overflow
            -(-9223372036854775808) => !overflow
            1u - 2u => !overflow
            18446744073709551615u + 1u => !overflow
            5000000000u * 5000000000u => !overflow
            1 / 0 => !divisionByZero@3
            1 % 0 => !divisionByZero
            1u / 0u => !divisionByZero
            1u % 0u => !divisionByZero
            1 + 1.0 => !noSuchOverload@3
            1 + 1u => !noSuchOverload
            1 + 'a' => !noSuchOverload
            'a' * 2 => !noSuchOverload
            5.0 % 2.0 => !noSuchOverload
            -'a' => !noSuchOverload
            -1u => !noSuchOverload@1
            !1 => !noSuchOverload@1
            null + 1 => !noSuchOverload
            1 ? 2 : 3 => !noSuchOverload
            null ? 2 : 3 => !noSuchOverload
            """)
    }

    @Test func equalityAndOrder() {
        Rows.check(
            """
            1 == 1u => true
            1 == 1.0 => true
            1u == 1.0 => true
            1 == 1.5 => false
            -1 == 18446744073709551615u => false
            9223372036854775807 == 9223372036854775807.0 => false
            9007199254740993 == 9007199254740992.0 => false
            9007199254740993 > 9007199254740992.0 => true
            double('NaN') == double('NaN') => false
            double('NaN') != double('NaN') => true
            1 < double('NaN') => false
            double('NaN') >= 1 => false
            -0.0 == 0.0 => true
            1 == '1' => false
            1 == null => false
            null == null => true
            'a' != 1 => true
            true == 1 => false
            'a' == 'a' => true
            'é' == 'e\\u0301' => false
            b'a' == b'a' => true
            b'a' == 'a' => false
            [1, 2] == [1u, 2.0] => true
            [1, 2] == [2, 1] => false
            [1] == [1, 1] => false
            {'a': 1} == {'a': 1.0} => true
            {1: 'a'} == {1u: 'a'} => true
            {'a': 1, 'b': 2} == {'b': 2, 'a': 1} => true
            {'a': 1} == {'b': 1} => false
            {'a': 1} == [1] => false
            [double('NaN')] == [double('NaN')] => false
            1 < 2 => true
            1 < 1u => false
            -1 < 0u => true
            18446744073709551615u > -1 => true
            1 <= 1.0 => true
            1.5 > 1 => true
            1u >= 1.5 => false
            18446744073709551615u < 1e30 => true
            -9223372036854775808 > -1e30 => true
            'a' < 'b' => true
            'B' < 'a' => true
            '' < 'a' => true
            'Z' < 'é' => true
            '\\uffff' < '\\U00010000' => true
            false < true => true
            b'a' < b'b' => true
            b'' <= b'' => true
            1 < 'a' => !noSuchOverload@3
            null < 1 => !noSuchOverload
            [1] < [2] => !noSuchOverload
            {} < {} => !noSuchOverload
            true < 1 => !noSuchOverload
            type(1) == int => true
            type('') == string => true
            type(type(1)) == type => true
            type([]) == list && type({}) == map => true
            type(null) == null_type => true
            type(duration('1s')) == google.protobuf.Duration => true
            type(timestamp(0)) == google.protobuf.Timestamp => true
            type(1) == type(1u) => false
            """)
    }

    @Test func logicAbsorbsErrors() {
        Rows.check(
            """
            true && true => true
            true && false => false
            false || true => true
            false || false => false
            false && 1 / 0 > 1 => false
            1 / 0 > 1 && false => false
            true || 1 / 0 > 1 => true
            1 / 0 > 1 || true => true
            'a' && false => false
            false && 'a' => false
            null || true => true
            1 / 0 > 1 && true => !divisionByZero@3
            true && 1 / 0 > 1 => !divisionByZero@11
            1 / 0 > 1 || false => !divisionByZero
            false || 1 / 0 > 1 => !divisionByZero
            1 / 0 > 1 || 1 / 0 > 2 => !divisionByZero@3
            'a' && true => !noSuchOverload@1
            true && 'a' => !noSuchOverload@9
            false ? 1 / 0 : 2 => 2
            true ? 1 : 1 / 0 => 1
            missing || true => true
            missing && true => !unknownName@1
            """)
        // An error deep on the right side is not evaluated again at each level.
        let deep = String(repeating: "false || (", count: 40) + "1 / 0 > 1" + String(repeating: ")", count: 40)
        Rows.check(deep + " => !divisionByZero")
        Rows.check(deep + " || true => true")
    }

    @Test func names() {
        Rows.check(
            """
            a => 1
            .a => 1
            _b2 => 'x'
            n => null
            m.k => 2
            m['k'] + a => 3
            absent => !unknownName@1
            1 + absent.b => !unknownName@5
            int == int => true
            dyn => !unknownName
            nope(1) => !unknownFunction@1
            a.nope() => !unknownFunction@3
            """, in: MapScope(["a": 1, "_b2": "x", "n": .null, "m": ["k": 2]]))
    }
}
