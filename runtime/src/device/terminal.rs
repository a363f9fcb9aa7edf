//! How wide a terminal is.

use std::io::IsTerminal;
use std::os::fd::AsRawFd;

#[expect(unsafe_code, reason = "`nix` makes a function of an ioctl, and leaves its promise to the caller")]
mod sys {
    nix::ioctl_read_bad!(window, nix::libc::TIOCGWINSZ, nix::libc::winsize);

    /// The columns of a terminal; 0 where it does not know them.
    pub(super) fn columns(terminal: std::os::fd::RawFd) -> Option<u16> {
        let mut size = nix::libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: TIOCGWINSZ writes one `winsize`, which is what it is given.
        unsafe { window(terminal, &raw mut size) }.ok().map(|_| size.ws_col)
    }
}

/// Characters of a line of the terminal that this stream goes to; `None` where it goes to none, or the
/// terminal does not know.
pub fn terminal_columns(stream: &(impl IsTerminal + AsRawFd)) -> Option<usize> {
    let columns = stream.is_terminal().then(|| sys::columns(stream.as_raw_fd())).flatten()?;
    (columns > 0).then_some(usize::from(columns))
}
