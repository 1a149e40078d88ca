// The words that values need in a language when they are spoken: digits themselves are read by whoever speaks.

/// What a language calls signs, months and money.
struct SpokenLanguage: Sendable {
    /// One of a thing ("one euro") and several ("euros").
    typealias Forms = (one: String, many: String)

    /// `*`, `#` and `+`.
    let star: String
    let hash: String
    let plus: String
    let minus: String
    /// Between whole and fraction, as it is written.
    let decimalMark: String
    /// Between euros and cents.
    let and: String
    /// January to December.
    let months: [String]
    /// A day as a date begins or goes on with it, 1 to 31.
    let day: @Sendable (Int) -> String
    /// Day, month, year.
    let date: @Sendable (_ day: String, _ month: String, _ year: Int) -> String
    /// By ISO 4217.
    let currencies: [String: (whole: Forms, part: Forms)]

    /// nil: it is not known here. `code` is of BCP 47; only its language counts.
    static func named(_ code: String) -> SpokenLanguage? { all[language(code)] }

    /// Those that are known, in order.
    static var codes: [String] { all.keys.sorted() }
    /// Currencies that all of them know.
    static let currencies = ["CHF", "EUR", "GBP", "USD"]

    private static func language(_ code: String) -> String { String(code.prefix { $0 != "-" }).lowercased() }

    private static let all: [String: SpokenLanguage] = [
        "en": SpokenLanguage(
            star: "star", hash: "hash", plus: "plus", minus: "minus", decimalMark: ".", and: "and",
            months: words(
                "January February March April May June July August September October November December"),
            day: { "\($0)\(englishEnding($0))" }, date: { "\($1) \($0), \($2)" },
            currencies: [
                "EUR": (("one euro", "euros"), ("one cent", "cents")), "USD": (("one dollar", "dollars"), ("one cent", "cents")),
                "GBP": (("one pound", "pounds"), ("one penny", "pence")),
                "CHF": (("one franc", "francs"), ("one centime", "centimes"))
            ]),
        "de": SpokenLanguage(
            star: "Stern", hash: "Raute", plus: "plus", minus: "minus", decimalMark: ",", and: "und",
            months: words("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
            day: { germanDays[$0 - 1] }, date: { "\($0) \($1) \($2)" },
            currencies: [
                "EUR": (("ein Euro", "Euro"), ("ein Cent", "Cent")), "USD": (("ein Dollar", "Dollar"), ("ein Cent", "Cent")),
                "GBP": (("ein Pfund", "Pfund"), ("ein Penny", "Pence")),
                "CHF": (("ein Franken", "Franken"), ("ein Rappen", "Rappen"))
            ]),
        "fr": SpokenLanguage(
            star: "étoile", hash: "dièse", plus: "plus", minus: "moins", decimalMark: ",", and: "et",
            months: words("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
            day: { $0 == 1 ? "premier" : "\($0)" }, date: { "\($0) \($1) \($2)" },
            currencies: [
                "EUR": (("un euro", "euros"), ("un centime", "centimes")),
                "USD": (("un dollar", "dollars"), ("un cent", "cents")),
                "GBP": (("une livre", "livres"), ("un penny", "pence")),
                "CHF": (("un franc", "francs"), ("un centime", "centimes"))
            ]),
        "es": SpokenLanguage(
            star: "asterisco", hash: "almohadilla", plus: "más", minus: "menos", decimalMark: ",", and: "con",
            months: words("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
            day: { $0 == 1 ? "primero" : "\($0)" }, date: { "\($0) de \($1) de \($2)" },
            currencies: [
                "EUR": (("un euro", "euros"), ("un céntimo", "céntimos")),
                "USD": (("un dólar", "dólares"), ("un centavo", "centavos")),
                "GBP": (("una libra", "libras"), ("un penique", "peniques")),
                "CHF": (("un franco", "francos"), ("un céntimo", "céntimos"))
            ]),
        "it": SpokenLanguage(
            star: "asterisco", hash: "cancelletto", plus: "più", minus: "meno", decimalMark: ",", and: "e",
            months: words("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
            day: { $0 == 1 ? "primo" : "\($0)" }, date: { "\($0) \($1) \($2)" },
            currencies: [
                "EUR": (("un euro", "euro"), ("un centesimo", "centesimi")),
                "USD": (("un dollaro", "dollari"), ("un centesimo", "centesimi")),
                "GBP": (("una sterlina", "sterline"), ("un penny", "pence")),
                "CHF": (("un franco", "franchi"), ("un centesimo", "centesimi"))
            ]),
        "nl": SpokenLanguage(
            star: "sterretje", hash: "hekje", plus: "plus", minus: "min", decimalMark: ",", and: "en",
            months: words("januari februari maart april mei juni juli augustus september oktober november december"),
            day: { "\($0)" }, date: { "\($0) \($1) \($2)" },
            currencies: [
                "EUR": (("één euro", "euro"), ("één cent", "cent")), "USD": (("één dollar", "dollar"), ("één cent", "cent")),
                "GBP": (("één pond", "pond"), ("één penny", "pence")),
                "CHF": (("één frank", "frank"), ("één rappen", "rappen"))
            ])
    ]

    private static func words(_ list: String) -> [String] { list.split(separator: " ").map(String.init) }

    private static func englishEnding(_ day: Int) -> String {
        switch (day % 10, day) {
        case (_, 11...13): "th"
        case (1, _): "st"
        case (2, _): "nd"
        case (3, _): "rd"
        default: "th"
        }
    }

    /// Speakers read `3.` as the end of a sentence.
    private static let germanDays: [String] = {
        let units = words("ein zwei drei vier fünf sechs sieben acht neun")
        let first = words("erster zweiter dritter vierter fünfter sechster siebter achter neunter zehnter elfter zwölfter")
        let teens = words("drei vier fünf sech sieb acht neun").map { "\($0)zehnter" }
        let twenties = ["zwanzigster"] + units.map { "\($0)undzwanzigster" }
        return first + teens + twenties + ["dreißigster", "einunddreißigster"]
    }()
}
