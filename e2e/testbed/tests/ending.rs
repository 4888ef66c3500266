//! Nothing is left of a bed when its owner has ended, however that happened.
#![expect(clippy::unwrap_used, reason = "a test fails where it notices")]

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use testbed::{Testbed, wait};

/// A process that has started a bed of its own.
struct Owner {
    process: Child,
    group: Pid,
    directory: PathBuf,
}

impl Owner {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_testbed"))
            .arg("--without-controllers")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (mut group, mut directory) = (None, None);
        for line in lines.map(Result::unwrap) {
            if let Some(id) = line.strip_prefix("process group ") {
                group = Some(Pid::from_raw(id.parse().unwrap()));
            } else if let Some(path) = line.strip_prefix("directory ") {
                directory = Some(PathBuf::from(path));
            } else if line == "ready" {
                break;
            }
        }
        Self {
            process,
            group: group.expect("the bed did not start"),
            directory: directory.unwrap(),
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.process.id()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    async fn leaves_nothing(mut self) {
        self.process.wait().unwrap();
        let Self {
            group, directory, ..
        } = self;
        wait::until(
            "all processes to end",
            Duration::from_secs(30),
            async || {
                // Processes that nobody has waited for yet still answer to signal 0, so look at what runs.
                let running = members(group);
                if running.is_empty() {
                    Ok(())
                } else {
                    Err(format!("{running:?} run"))
                }
            },
        )
        .await
        .unwrap();
        wait::until("the directory to go", Duration::from_secs(30), async || {
            if directory.exists() {
                Err(format!("{} exists", directory.display()))
            } else {
                Ok(())
            }
        })
        .await
        .unwrap();
    }
}

/// The names of the processes in a group that are not just waiting to be collected.
fn members(group: Pid) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // pid (name) state parent group …; the name may hold anything, so split behind its last bracket.
        let Some((name, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        let fields: Vec<&str> = rest.split(' ').collect();
        if fields[2] == group.to_string() && fields[0] != "Z" {
            names.push(name.to_owned());
        }
    }
    names
}

#[tokio::test]
async fn owner_is_killed() {
    let owner = Owner::start();
    assert!(
        members(owner.group).len() >= 3,
        "etcd, an API server, the holder of the group"
    );
    owner.signal(Signal::SIGKILL);
    owner.leaves_nothing().await;
}

#[tokio::test]
async fn owner_is_killed_while_a_server_is_frozen() {
    let owner = Owner::start();
    killpg(owner.group, Signal::SIGSTOP).unwrap();
    owner.signal(Signal::SIGKILL);
    owner.leaves_nothing().await;
}

#[tokio::test]
async fn owner_is_interrupted() {
    let owner = Owner::start();
    owner.signal(Signal::SIGINT);
    owner.leaves_nothing().await;
}

#[tokio::test]
async fn owner_drops_it() {
    let bed = Testbed::builder()
        .without_controllers()
        .start()
        .await
        .unwrap();
    let (group, directory) = (
        Pid::from_raw(bed.process_group()),
        bed.directory().to_owned(),
    );
    assert!(!members(group).is_empty());
    drop(bed);
    assert_eq!(members(group), Vec::<String>::new());
    assert!(!directory.exists());
}

#[tokio::test]
async fn owner_panics_and_the_logs_stay() {
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let bed = Testbed::builder()
                .without_controllers()
                .start()
                .await
                .unwrap();
            tell.send((bed.process_group(), bed.directory().to_owned()))
                .unwrap();
            panic!("a test failed (on purpose)");
        });
    });
    thread.join().unwrap_err();
    let (group, directory) = told.recv().unwrap();
    assert_eq!(members(Pid::from_raw(group)), Vec::<String>::new());
    let log = directory.join("control-plane/kube-apiserver.log");
    assert!(log.exists(), "{} does not exist", log.display());
    assert!(
        !directory.join("etcd").exists(),
        "the data is of no use to anybody"
    );
    std::fs::remove_dir_all(directory).unwrap();
}
