//! Sees to it that no process outlives its owner, however the owner ends.
//!
//! Every process of a bed is in one process group. A small shell, in a group of its own, reads a pipe whose other end only
//! the owner holds. When the owner ends – returns, panics, is interrupted, is killed – the kernel closes that end; the shell reads
//! the end of the file, kills the group and removes the bed's directory. Nothing depends on the owner running a destructor.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};

use anyhow::{Context as _, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

const SCRIPT: &str = r#"
trap '' HUP INT TERM
group=
keep=
while read -r word value; do
  case $word in
    group) group=$value ;;
    keep) keep=yes ;;
  esac
done
if [ -n "$group" ]; then
  kill -s KILL -- "-$group" 2>/dev/null
  tries=0
  while [ "$tries" -lt 50 ] && kill -s 0 -- "-$group" 2>/dev/null; do
    tries=$((tries + 1))
    sleep 0.1
  done
fi
rm -rf "$1/etcd"
[ -n "$keep" ] || rm -rf "$1"
"#;

/// The process group of one bed and the shell that ends it.
#[derive(Debug)]
pub(crate) struct Reaper {
    directory: PathBuf,
    group: i32,
    /// Keeps the group alive while no server is in it.
    holder: Mutex<Child>,
    shell: Mutex<Child>,
    pipe: Mutex<Option<ChildStdin>>,
    kept: AtomicBool,
}

impl Reaper {
    /// Starts the shell that removes `directory` and ends the processes when this process is gone.
    pub(crate) fn start(directory: &Path) -> Result<Arc<Self>> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "testbed-reaper"])
            .arg(directory)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("starting the shell that ends the test bed's processes")?;
        let mut pipe = shell.stdin.take().expect("stdin was asked to be a pipe");
        let holder = Command::new("sleep")
            .arg("2147483647")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("starting the test bed's process group")?;
        let group = i32::try_from(holder.id()).expect("process ids fit into i32");
        writeln!(pipe, "group {group}").context("telling the reaper its process group")?;
        let reaper = Arc::new(Self {
            directory: directory.to_owned(),
            group,
            holder: Mutex::new(holder),
            shell: Mutex::new(shell),
            pipe: Mutex::new(Some(pipe)),
            kept: AtomicBool::new(false),
        });
        keep_on_panic(&reaper);
        Ok(reaper)
    }

    /// The process group every child has to be started in.
    pub(crate) fn group(&self) -> i32 {
        self.group
    }

    /// Leaves the logs where they are when the bed ends, and says so once.
    pub(crate) fn keep(&self) {
        if self.kept.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(pipe) = lock(&self.pipe).as_mut() {
            // A pipe without a reader means that the bed is ending already: there is nothing left to keep.
            let _ = writeln!(pipe, "keep");
        }
        let _ = writeln!(
            std::io::stderr(),
            "test bed: the logs of all its processes stay in {}",
            self.directory.display()
        );
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.keep();
        }
        drop(lock(&self.pipe).take());
        // The shell does the same; doing it here too lets us collect our children at once, so that it need not wait for them.
        let _ = killpg(Pid::from_raw(self.group), Signal::SIGKILL);
        let _ = lock(&self.holder).wait();
        let _ = lock(&self.shell).wait();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

static ALIVE: Mutex<Vec<Weak<Reaper>>> = Mutex::new(Vec::new());

/// A bed shared by the tests of a binary is never dropped, so a failing test keeps the logs from within the panic.
fn keep_on_panic(reaper: &Arc<Reaper>) {
    static HOOK: Once = Once::new();
    lock(&ALIVE).push(Arc::downgrade(reaper));
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            previous(panic);
            for reaper in lock(&ALIVE).iter().filter_map(Weak::upgrade) {
                reaper.keep();
            }
        }));
    });
}
