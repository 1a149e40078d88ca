// The functions of expressions: strings, patterns, conversions, times, numbers.
import FlowEngine
import Testing

@Suite struct FunctionTests {
    @Test func strings() {
        Rows.check(
            #"""
            size('πέντε') => 5
            'abc'.size() => 3
            size('') => 0
            size(b'ÿ') => 2
            size(1) => !noSuchOverload
            'abc'.contains('b') => true
            'abc'.contains('') => true
            'abc'.contains('ac') => false
            'abc'.startsWith('ab') => true
            'abc'.startsWith('b') => false
            'abc'.endsWith('bc') => true
            'abc'.endsWith('') => true
            'é'.startsWith('e') => false
            'abc'.contains(1) => !noSuchOverload@7
            contains('a', 'b') => !noSuchOverload
            'tacocat'.charAt(3) => 'o'
            'tacocat'.charAt(7) => ''
            '©αT'.charAt(1) => 'α'
            'a'.charAt(2) => !indexOutOfBounds
            'a'.charAt(-1) => !indexOutOfBounds
            'tacocat'.indexOf('') => 0
            'tacocat'.indexOf('ac') => 1
            'tacocat'.indexOf('none') => -1
            'tacocat'.indexOf('a', 3) => 5
            'tacocat'.indexOf('', 3) => 3
            'ta©o©αT'.indexOf('©', 3) => 4
            'abc'.indexOf('a', 4) => !indexOutOfBounds
            'tacocat'.lastIndexOf('at') => 5
            'tacocat'.lastIndexOf('') => 7
            'tacocat'.lastIndexOf('a', 3) => 1
            'tacocat'.lastIndexOf('', 3) => 3
            'bananananana'.lastIndexOf('nana', 7) => 6
            ''.lastIndexOf('@@') => -1
            'abc'.lastIndexOf('a', -1) => !indexOutOfBounds
            'TacoCÆt Xii'.lowerAscii() => 'tacocÆt xii'
            'tacoCαt'.upperAscii() => 'TACOCαT'
            ' \f\n\r\t\vtext '.trim() => 'text'
            '\u0085\u00a0\u1680text\u2028\u3000'.trim() => 'text'
            '\u200btext'.trim() => '\u200btext'
            'a b c'.replace(' ', '_') => 'a_b_c'
            'a b c'.replace(' ', '_', 1) => 'a_b c'
            'a b c'.replace(' ', '_', 0) => 'a b c'
            'a b c'.replace(' ', '_', -1) => 'a_b_c'
            'abc'.replace('', '-') => '-a-b-c-'
            'abc'.replace('', '-', 2) => '-a-bc'
            ''.replace('', '-') => '-'
            'abc'.replace('x', 'y') => 'abc'
            'a,b,c'.split(',') => ['a', 'b', 'c']
            'a,b,c'.split(',', 2) => ['a', 'b,c']
            'a,b,c'.split(',', 0) => []
            'a,b,c'.split(',', 1) => ['a,b,c']
            'a,b,c'.split(',', -1) => ['a', 'b', 'c']
            'abc'.split('') => ['a', 'b', 'c']
            ',a,'.split(',') => ['', 'a', '']
            ''.split(',') => ['']
            'tacocat'.substring(4) => 'cat'
            'tacocat'.substring(0, 4) => 'taco'
            'tacocat'.substring(7) => ''
            'ta©o©αT'.substring(2, 6) => '©o©α'
            'abc'.substring(2, 1) => !invalidArgument
            'abc'.substring(4) => !indexOutOfBounds
            'abc'.substring(-1) => !indexOutOfBounds
            ['x', 'y'].join() => 'xy'
            ['x', 'y'].join('-') => 'x-y'
            [].join('-') => ''
            [1].join() => !noSuchOverload
            'abc'.reverse() => 'cba'
            [1, 2].reverse() => [2, 1]
            base64.encode(b'hello') => 'aGVsbG8='
            base64.encode(b'') => ''
            base64.decode('aGVsbG8=') => b'hello'
            base64.decode('aGVsbG8') => b'hello'
            base64.decode('a') => !invalidArgument
            base64.decode('a*b=') => !invalidArgument
            """#)
    }

    @Test func patterns() {
        Rows.check(
            #"""
            'hubba'.matches('ubb') => true
            'hubba'.matches('^ubb') => false
            matches('hubba', 'u.*a$') => true
            'cows'.matches('') => true
            '0612345678'.matches('^06[0-9]{8}$') => true
            '+33'.matches(r'^\+\d+$') => true
            'mañana'.matches('a+ñ+a+') => true
            '🐱😀😀'.matches('(a|😀){2}') => true
            'ABC'.matches('(?i)abc') => true
            'a'.matches('a' + '+') => true
            'a'.matches('(') => !invalidArgument
            'a'.matches('(' + '') => !invalidArgument
            'a'.matches(r'(a)\1') => !invalidArgument
            'a'.matches('(?=a)') => !invalidArgument
            'a'.matches(1) => !noSuchOverload
            1.5.matches('a') => !noSuchOverload
            """#)
    }

    @Test func conversions() {
        Rows.check(
            #"""
            int(42u) => 42
            int(1.9) => 1
            int(-7.9) => -7
            int('-12') => -12
            int(timestamp('2004-09-16T23:59:59Z')) => 1095379199
            int(18446744073709551615u) => !overflow
            int(1e99) => !overflow
            int(-9223372036854775808.0) => !overflow
            int(9223372036854775807.0) => !overflow
            int(double('NaN')) => !overflow
            int('1.5') => !invalidArgument@1
            int('') => !invalidArgument
            int(null) => !noSuchOverload
            int(true) => !noSuchOverload
            int() => !noSuchOverload
            int(1, 2) => !noSuchOverload
            uint(1729) => 1729u
            uint(3.7) => 3u
            uint('300') => 300u
            uint(1e19) => 10000000000000000000u
            uint(-1) => !overflow
            uint(-1.0) => !overflow
            uint(6.022e23) => !overflow
            uint('-1') => !invalidArgument
            double(3) => 3.0
            double(3u) => 3.0
            double('1.38e-23') => 1.38e-23
            double('-84.32e7') => -843200000.0
            double('x') => !invalidArgument
            double(true) => !noSuchOverload
            string(123) => '123'
            string(-4.5e-3) => '-0.0045'
            string(123.456) => '123.456'
            string(3.0) => '3'
            string(9876u) => '9876'
            string(true) => 'true'
            string('a') => 'a'
            string(b'\303\277') => 'ÿ'
            string(b'\xff') => !invalidArgument
            string(null) => !noSuchOverload
            string([1]) => !noSuchOverload
            string(duration('1h')) => '3600s'
            string(duration('-1.5s')) => '-1.5s'
            string(duration('1ns')) => '0.000000001s'
            string(timestamp('2009-02-13T23:31:30.120Z')) => '2009-02-13T23:31:30.12Z'
            bytes('abc') => b'abc'
            bytes(b'a') => b'a'
            bytes(1) => !noSuchOverload
            bool('true') => true
            bool('F') => false
            bool(true) => true
            bool('TrUe') => !invalidArgument
            bool(1) => !noSuchOverload
            dyn(1) => 1
            type(dyn([1])) => list
            duration(duration('1s')) => duration('1s')
            timestamp(timestamp(5)) => timestamp(5)
            timestamp(0) => timestamp('1970-01-01T00:00:00Z')
            """#)
    }

    @Test func times() {
        Rows.check(
            """
            timestamp('2009-02-13T23:31:30Z').getFullYear() => 2009
            timestamp('2009-02-13T23:31:30Z').getMonth() => 1
            timestamp('2009-02-13T23:31:30Z').getDate() => 13
            timestamp('2009-02-13T23:31:30Z').getDayOfMonth() => 12
            timestamp('2009-02-13T23:31:30Z').getDayOfWeek() => 5
            timestamp('2009-02-13T23:31:30Z').getDayOfYear() => 43
            timestamp('2009-02-13T23:31:30Z').getHours() => 23
            timestamp('2009-02-13T23:31:30Z').getMinutes() => 31
            timestamp('2009-02-13T23:31:30Z').getSeconds() => 30
            timestamp('2009-02-13T23:31:20.123456789Z').getMilliseconds() => 123
            timestamp('1969-12-31T23:59:59.5Z').getHours() => 23
            timestamp('1969-12-28T00:00:00Z').getDayOfWeek() => 0
            timestamp('2024-12-31T00:00:00Z').getDayOfYear() => 365
            timestamp('2000-02-29T00:00:00Z').getDate() => 29
            timestamp('2009-02-13T23:31:30Z').getDate('Australia/Sydney') => 14
            timestamp('2009-02-13T23:31:30Z').getDate('+11:00') => 14
            timestamp('2009-02-13T02:00:00Z').getDate('-02:30') => 12
            timestamp('2009-02-13T23:31:30Z').getHours('02:00') => 1
            timestamp('2009-02-13T23:31:30Z').getMinutes('Asia/Kathmandu') => 16
            timestamp('2009-07-13T10:00:00Z').getHours('Europe/Paris') => 12
            timestamp('2009-01-13T10:00:00Z').getHours('Europe/Paris') => 11
            timestamp('2009-01-13T10:00:00Z').getHours('UTC') => 10
            timestamp('2009-01-13T10:00:00Z').getHours('Mars/Base') => !invalidArgument
            timestamp('2009-01-13T10:00:00Z').getHours(1) => !noSuchOverload
            timestamp('2009-02-13T23:00:00Z') + duration('240s') => timestamp('2009-02-13T23:04:00Z')
            duration('120s') + timestamp('2009-02-13T23:01:00Z') => timestamp('2009-02-13T23:03:00Z')
            timestamp('2009-02-13T23:10:00Z') - duration('10m') => timestamp('2009-02-13T23:00:00Z')
            timestamp('2009-02-13T23:31:00Z') - timestamp('2009-02-13T23:29:00Z') => duration('2m')
            timestamp('0001-01-01T00:00:01.000000001Z') + duration('-999999999ns') => timestamp('0001-01-01T00:00:00.000000002Z')
            timestamp('2020-01-01T00:00:00Z') < timestamp('2020-01-01T01:00:00+00:30') => true
            timestamp('2020-01-01T00:00:00Z') == timestamp('2020-01-01T01:00:00+01:00') => true
            duration('600s') + duration('50s') => duration('650s')
            duration('900s') - duration('42s') => duration('858s')
            duration('1h30m') => duration('5400s')
            duration('1.5h') => duration('90m')
            duration('.5s') => duration('500ms')
            duration('-1m') => duration('0s') - duration('60s')
            duration('0') => duration('0s')
            duration('1us') + duration('1ns') => duration('1001ns')
            duration('1s') < duration('2s') => true
            duration('10000s').getHours() => 2
            duration('3730s').getMinutes() => 62
            duration('3730s').getSeconds() => 3730
            duration('123.321456789s').getMilliseconds() => 321
            duration('1s').getFullYear() => !noSuchOverload
            duration('1') => !invalidArgument
            duration('s') => !invalidArgument
            duration('1 s') => !invalidArgument
            duration('1d') => !invalidArgument
            duration('') => !invalidArgument
            duration('--1s') => !invalidArgument
            duration('320000000000s') => !overflow
            duration('-320000000000s') => !overflow
            duration('200000000000s') + duration('200000000000s') => !overflow
            timestamp('0000-01-01T00:00:00Z') => !invalidArgument
            timestamp('10000-01-01T00:00:00Z') => !invalidArgument
            timestamp('2020-13-01T00:00:00Z') => !invalidArgument
            timestamp('2021-02-29T00:00:00Z') => !invalidArgument
            timestamp('2020-01-01') => !invalidArgument
            timestamp('2020-01-01T00:00:00') => !invalidArgument
            timestamp('2020-01-01T24:00:00Z') => !invalidArgument
            timestamp('0001-01-01T00:00:00Z') + duration('-1ns') => !overflow
            timestamp('9999-12-31T23:59:59Z') + duration('1s') => !overflow
            timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z') => !overflow
            timestamp(253402300800) => !overflow
            duration('1s') * 2 => !noSuchOverload
            """)
    }

    @Test func numbers() {
        Rows.check(
            """
            math.greatest(1, 3, 2) => 3
            math.greatest([1, 2.5]) => 2.5
            math.least(1, -3.5, 2u) => -3.5
            math.least(5) => 5
            math.least('a') => !noSuchOverload
            math.least([]) => !invalidArgument
            math.abs(-3) => 3
            math.abs(-3.5) => 3.5
            math.abs(-9223372036854775808) => !overflow
            math.ceil(1.2) => 2.0
            math.floor(-1.2) => -2.0
            math.round(2.5) => 3.0
            math.trunc(-1.9) => -1.0
            math.sign(-7) => -1
            math.sign(0.0) => 0.0
            math.ceil(1) => !noSuchOverload
            """)
    }
}
