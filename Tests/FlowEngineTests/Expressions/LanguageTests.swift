// The language itself, against CEL's definition: literals, operators, logic, collections, macros, optionals.
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
    }

    @Test func collections() {
        Rows.check(
            """
            [1, 2, 3][0] => 1
            [1, 2, 3][2u] => 3
            [7, 8][1.0] => 8
            [1][1] => !indexOutOfBounds@4
            [1][-1] => !indexOutOfBounds
            [1][0.5] => !invalidArgument
            [1]['a'] => !noSuchOverload
            {'a': 1}.a => 1
            {'a': 1}['a'] => 1
            {'a': {'b': 2}}.a.b => 2
            {1: 'x'}[1u] => 'x'
            {1: 'x'}[1.0] => 'x'
            {true: 'y'}[true] => 'y'
            {'x-y': 5}.`x-y` => 5
            {'if': 1}.if => 1
            {'a': 1}.b => !noSuchKey@10
            {'a': 1}['b'] => !noSuchKey@9
            {1: 1}[1.5] => !noSuchKey
            {1: 1}[null] => !noSuchOverload
            {'a': 1, 'a': 2} => !duplicateKey@10
            {1: 1, 1u: 2} => !duplicateKey
            {1.0: 1} => !noSuchOverload@2
            {null: 1} => !noSuchOverload
            {[]: 1} => !noSuchOverload
            'abc'.a => !noSuchField@7
            1.5.a => !noSuchField
            null.a => !noSuchField
            null['a'] => !noSuchOverload
            'abc'[0] => !noSuchOverload
            1 in [1, 2] => true
            1.0 in [1, 2] => true
            'a' in ['b'] => false
            'a' in {'a': 1} => true
            2 in {2u: 1} => true
            null in {'a': 1} => false
            1 in 'a' => !noSuchOverload@3
            size([1, 2]) => 2
            [].size() => 0
            size({'a': 1}) => 1
            {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9, 'j': 10}.j => 10
            {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9, 'j': 10}.a => 1
            has({'a': 1}.a) => true
            has({'a': null}.a) => true
            has({'a': 1}.b) => false
            has({'a': {}}.a.b) => false
            has({}.a.b) => !noSuchKey
            has(null.a) => !noSuchOverload
            """)
    }

    @Test func macros() {
        Rows.check(
            """
            [1, 2, 3].all(x, x > 0) => true
            [1, 2, 3].all(x, x > 1) => false
            [].all(x, x > 1) => true
            [1, 2, 3].exists(x, x == 2) => true
            [1, 2, 3].exists(x, x == 4) => false
            [].exists(x, true) => false
            [1, 2, 3].exists_one(x, x > 2) => true
            [1, 2, 3].existsOne(x, x > 1) => false
            [1, 2, 3].map(x, x * 2) => [2, 4, 6]
            [1, 2, 3].map(x, x > 1, x * 2) => [4, 6]
            [1, 2, 3].filter(x, x != 2) => [1, 3]
            {'a': 1, 'b': 2}.all(k, k < 'c') => true
            {'a': 1, 'b': 2}.map(k, k) => ['a', 'b']
            {'a': 1, 'b': 2}.filter(k, k == 'b') => ['b']
            {'a': 1}.exists(k, k == 'a') => true
            [[1, 2], [3]].map(l, l.map(x, x + 1)) => [[2, 3], [4]]
            [1, 2].map(x, [3, 4].map(y, x * y)) => [[3, 4], [6, 8]]
            [1].map(x, [2].map(x, x)) => [[2]]
            [1, 2].map(x, x) + [x] => [1, 2, 9]
            [0, 1].exists(x, 1 / x == 1) => true
            [1, 0].exists(x, 1 / x == 1) => true
            [0, 2].exists(x, 1 / x == 1) => !divisionByZero
            [0, 2].all(x, 1 / x == 1) => false
            [1, 0].all(x, 1 / x == 1) => !divisionByZero
            [0, 1].exists_one(x, 1 / x == 1) => !divisionByZero
            [0].map(x, 1 / x) => !divisionByZero@14
            [1].filter(x, x) => !noSuchOverload@15
            [1].all(x, 'a') => !noSuchOverload
            'abc'.all(x, true) => !noSuchOverload
            1.0.map(x, x) => !noSuchOverload
            [1, 2].all(x, x > 0) && [3].exists(x, x == 3) => true
            """, in: MapScope(["x": 9]))
    }

    @Test func optionals() {
        Rows.check(
            """
            optional.of(1).hasValue() => true
            optional.none().hasValue() => false
            optional.of(null).hasValue() => true
            optional.ofNonZeroValue(0).hasValue() => false
            optional.ofNonZeroValue('').hasValue() => false
            optional.ofNonZeroValue([]).hasValue() => false
            optional.ofNonZeroValue('a').value() => 'a'
            optional.of(1).value() => 1
            optional.none().value() => !invalidArgument
            optional.none().orValue(5) => 5
            optional.of(1).orValue(5) => 1
            optional.of(1).orValue(1 / 0) => 1
            optional.none().or(optional.of(2)).value() => 2
            optional.of(1).or(optional.of(2)).value() => 1
            optional.none().or(optional.none()).hasValue() => false
            optional.of(4).optMap(y, y + 1).value() => 5
            optional.none().optMap(y, y + 1).hasValue() => false
            {'k': {'s': 'v'}}.?k.optFlatMap(m, m.?s).value() => 'v'
            {'k': {}}.?k.optFlatMap(m, m.?s).hasValue() => false
            {'a': 1}.?a.value() => 1
            {}.?a.hasValue() => false
            {'a': null}.?a.hasValue() => true
            {'a': {'b': 1}}.?a.b.value() => 1
            {'a': {}}.?a.b.hasValue() => false
            {}.?a.b.c.orValue(3) => 3
            {'a': null}.?a.b => !noSuchField
            {'a': null}.?a.?b.orValue(0) => 0
            null.?a.orValue(2) => 2
            {'c': {'x-y': 'z'}}.c[?'x-y'].orValue('d') => 'z'
            {'c': {}}.c[?'x-y'].orValue('d') => 'd'
            [1][?0].value() => 1
            [1][?1].hasValue() => false
            [1][?-1].hasValue() => false
            optional.of([7])[?0].value() => 7
            optional.none()[?0].hasValue() => false
            optional.of({'c': 1}).c.value() => 1
            optional.of([5])[0].orValue(0) => 5
            has({'x': {'y': 1}}.?x.y) => true
            has({}.?x.y) => false
            {true: 1}[?true].value() => 1
            {1u: 1.0}[?1].value() => 1.0
            [?optional.of(1), ?optional.none(), 2] => [1, 2]
            {?'a': optional.of(1), ?'b': optional.none()} => {'a': 1}
            [?1] => !noSuchOverload
            {?'a': 1} => !noSuchOverload
            optional.none() == optional.none() => true
            optional.of(1) == optional.of(1.0) => true
            optional.of(1) == optional.none() => false
            optional.of(1) == 1 => false
            type(optional.none()) == optional_type => true
            (1).orValue(2) => !noSuchOverload
            optional.none().or(1) => !noSuchOverload
            'a'.?b => !noSuchField
            """)
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
