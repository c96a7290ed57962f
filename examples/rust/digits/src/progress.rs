//! One line that is drawn in place, ten times a second; nothing where the output is no terminal.

use std::{
    io::{stdout, Write},
    os::raw::c_int,
    time::{Duration, Instant},
};

use flambeau::{memory_allocated, Device, Result, Tensor};

extern "C" {
    fn isatty(file: c_int) -> c_int;
}

const WIDTH: usize = 32;

pub struct Progress {
    total: i64,
    pub done: i64,
    begun: Instant,
    drawn: Instant,
    terminal: bool,
}

impl Progress {
    pub fn new(total: i64) -> Self {
        let now = Instant::now();
        // SAFETY: a question about standard output.
        let terminal = unsafe { isatty(1) != 0 };
        Self {
            total,
            done: 0,
            begun: now,
            drawn: now,
            terminal,
        }
    }

    pub fn elapsed(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    pub fn rate(&self) -> f64 {
        self.done as f64 / self.elapsed()
    }

    /// Counts images, and draws if it is time: only then the loss is waited for.
    pub fn advance(&mut self, images: i64, loss: &Tensor, device: Device) -> Result<()> {
        self.done += images;
        let early = self.drawn.elapsed() < Duration::from_millis(100) && self.done < self.total;
        if !self.terminal || early {
            return Ok(());
        }
        self.drawn = Instant::now();
        let full = WIDTH * self.done as usize / self.total as usize;
        print!(
            "\r\x1b[2K\x1b[33m{}\x1b[90m{}\x1b[0m  {:3} %  {:.0}/s  loss {:.4}  memory {:.1} MiB  \
             {:.0} s left",
            "━".repeat(full),
            "━".repeat(WIDTH - full),
            100 * self.done / self.total,
            self.rate(),
            loss.item_f64()?,
            memory_allocated(device) as f64 / 1048576.0,
            (self.total - self.done) as f64 / self.rate(),
        );
        Ok(stdout().flush()?)
    }

    /// Prints a line that stays.
    pub fn say(&self, line: &str) {
        println!("{}{}", if self.terminal { "\r\x1b[2K" } else { "" }, line);
    }
}
