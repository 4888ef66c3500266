//! A TCP proxy that can behave like a bad network.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// What the proxy does with bytes and connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Passes everything on.
    Up,
    /// Closes every connection, the present ones and each new one: what a stopped server looks like.
    Refusing,
    /// Accepts connections and swallows time: nothing arrives, nothing is closed. What was sent arrives when the network is
    /// up again, as after a partition.
    Blackhole,
    /// Passes everything on, each piece this much later.
    Slow(Duration),
}

/// A proxy in front of one API server. Present connections feel a change too.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    network: watch::Sender<Network>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy in front of `target`, on that runtime.
    pub(crate) async fn start(runtime: &Handle, target: SocketAddr) -> Result<Self> {
        let port = crate::ports::free()?;
        let (network, seen) = watch::channel(Network::Up);
        let listener = runtime
            .spawn(TcpListener::bind((Ipv4Addr::LOCALHOST, port)))
            .await
            .context("the runtime of the test bed ended")?
            .context("listening for the proxy")?;
        let address = listener
            .local_addr()
            .context("reading the proxy's address")?;
        let task = runtime.spawn(accept(listener, target, seen));
        Ok(Self {
            address,
            network,
            task,
        })
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes how the network behaves from now on.
    pub fn set(&self, network: Network) {
        self.network.send_replace(network);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.network.send_replace(Network::Refusing);
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, network: watch::Receiver<Network>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) if *network.borrow() != Network::Refusing => {
                tokio::spawn(connect(client, target, network.clone()));
            }
            Ok((client, _)) => drop(client),
            Err(error) => {
                tracing::warn!(%error, "the proxy could not accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn connect(client: TcpStream, target: SocketAddr, mut network: watch::Receiver<Network>) {
    // A connection made in a blackhole must not reach the server before the network is up again.
    if pass(&mut network).await == Pass::Closed {
        return;
    }
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    // Small writes of TLS must not wait for acknowledgements; the servers do the same.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let up = pump(client_read, server_write, network.clone());
    let down = pump(server_read, client_write, network.clone());
    tokio::select! {
        () = async { tokio::join!(up, down); } => {}
        () = refused(network) => {}
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut network: watch::Receiver<Network>,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if pass(&mut network).await == Pass::Closed || to.write_all(&buffer[..count]).await.is_err()
        {
            break;
        }
    }
    // The other direction may still have something to say: close only this one.
    let _ = to.shutdown().await;
}

#[derive(PartialEq, Eq)]
enum Pass {
    Through,
    Closed,
}

/// Waits as long as the network holds bytes back.
async fn pass(network: &mut watch::Receiver<Network>) -> Pass {
    loop {
        let now = *network.borrow_and_update();
        match now {
            Network::Up => return Pass::Through,
            Network::Refusing => return Pass::Closed,
            Network::Slow(delay) => {
                tokio::time::sleep(delay).await;
                return Pass::Through;
            }
            Network::Blackhole => {
                if network.changed().await.is_err() {
                    return Pass::Closed;
                }
            }
        }
    }
}

async fn refused(mut network: watch::Receiver<Network>) {
    // An error means that the proxy itself is gone.
    let _ = network
        .wait_for(|network| *network == Network::Refusing)
        .await;
}
