//! What a kernel's command line says of its console.

/// Console log levels without and with `quiet`: messages of a smaller number
/// are written.
pub(crate) const LEVEL_DEFAULT: u8 = 7;
pub(crate) const LEVEL_QUIET: u8 = 4;

/// A serial console of the command line.
pub(crate) struct Told<'a> {
    /// The whole word.
    pub word: &'a str,
    /// `ttyS0`.
    pub device: &'a str,
    /// Its rate, if the word has one.
    pub baud: Option<i64>,
}

/// `console=ttyS0,115200n8`; the kernel's screen `tty0` is no serial line.
pub(crate) fn serial_console(cmdline: &str) -> Option<Told<'_>> {
    let mut consoles = cmdline.split_whitespace().filter_map(|word| {
        let (device, options) = match word.strip_prefix("console=")?.split_once(',') {
            Some((device, options)) => (device, options),
            None => (word.strip_prefix("console=")?, ""),
        };
        is_serial(device).then_some(())?;
        let digits = options
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(options.len());
        let baud = options.get(..digits).and_then(|d| d.parse().ok());
        let baud = baud.filter(|b| *b > 0);
        Some(Told { word, device, baud })
    });
    consoles.next()
}

/// `ttyS0`, `ttyAMA0`, `ttymxc1`: drivers of UARTs name their lines in capitals, but for
/// `imx`. Not `tty0`, nor what has no line, such as `ttysclp0` of a mainframe, `hvc0` of a
/// hypervisor, or the network behind a gadget's `ttyGS0`.
pub(crate) fn is_serial(device: &str) -> bool {
    // What the firmware of a Raspberry Pi puts the name of its UART in for.
    let is_alias = matches!(device, "serial0" | "serial1");
    let kind = device.strip_prefix("tty");
    is_alias
        || kind.is_some_and(|kind| {
            let is_uart =
                kind.starts_with(|c: char| c.is_ascii_uppercase()) || kind.starts_with("mxc");
            is_uart && !kind.starts_with("GS")
        })
}

/// The console log level that a command line sets.
pub(crate) fn level(cmdline: &str) -> u8 {
    let flag = |word: &str| word.replace('-', "_") == "ignore_loglevel";
    if cmdline.split_whitespace().any(flag) {
        return u8::MAX;
    }
    let words = cmdline.split_whitespace();
    let level = words.fold(LEVEL_DEFAULT, |level, word| match word {
        "quiet" => LEVEL_QUIET,
        "debug" => 10,
        _ => match word.strip_prefix("loglevel=").map(str::parse) {
            Some(Ok(level)) => level,
            _ => level,
        },
    });
    level.max(1)
}
