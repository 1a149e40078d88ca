// Lists and maps, the macros that go over them, optional values: against CEL's definition.
import FlowEngine
import Testing

@Suite struct CollectionTests {
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
}
