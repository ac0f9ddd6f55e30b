//! What a program runs on.

use serde::{Deserialize, Serialize};
use skolem_nn::kernel;

/// The machine that something was measured on. What the system does not tell is empty.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Name of the processor.
    pub processor: String,
    /// The instructions of it that are used.
    pub instructions: String,
    /// Number of cores that the program may use.
    pub cores: usize,
    /// Number of threads that it uses.
    pub threads: usize,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The operating system.
    pub system: String,
    /// Version of the program.
    pub skolem: String,
}

impl Machine {
    /// This machine.
    pub fn here() -> Machine {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, key: &str, sign: char| {
            let line = text.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(sign)?.1.trim().trim_matches('"').to_owned())
        };
        let name = field(&read("/etc/os-release"), "PRETTY_NAME", '=');
        let kernel = read("/proc/sys/kernel/osrelease");
        let system = name.unwrap_or_else(|| std::env::consts::OS.into());
        let memory = field(&read("/proc/meminfo"), "MemTotal", ':');
        let memory = memory.and_then(|text| text.strip_suffix("kB")?.trim().parse::<u64>().ok());
        Machine {
            processor: field(&read("/proc/cpuinfo"), "model name", ':')
                .unwrap_or_else(|| std::env::consts::ARCH.into()),
            instructions: kernel::level().name().into(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            threads: rayon::current_num_threads(),
            memory: memory.map(|kibibytes| kibibytes << 10),
            system: format!("{system} {}", kernel.trim()).trim().into(),
            skolem: env!("CARGO_PKG_VERSION").into(),
        }
    }
}
