/// Returns every text that the standard library can create from a value.
func everyText(of value: some Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    var dumpedInside = ""
    dump([Optional(value)], to: &dumpedInside)
    return [
        "\(value)", String(describing: value), String(reflecting: value), "\([value])", "\(Optional(value) as Any)",
        "\(Mirror(reflecting: value).children.map { "\($0)" })", dumped, dumpedInside,
    ]
}
