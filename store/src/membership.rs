//! A node's standing among the nodes of a database, kept by a thread with a connection of its own.
//!
//! The connection says every few seconds that the node is there, hears what others commit, and holds the lock
//! of the leader if the node has it. When the connection is gone, so is the leadership: nothing else elects.
//! All times are those of the server's clock.

use std::cell::Cell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::sql::address::ServerAddress;
use super::sql::server::Session;
use super::sql::{Connection, params};
use super::{Location, Store, StoreError};

/// A node of which nothing was heard for so long is gone; each is heard of every [`BEAT`].
pub(crate) const LEASE: Duration = Duration::from_secs(15);
const BEAT: Duration = Duration::from_secs(5);

/// How long a leader may act on its last sign that it leads. Shorter than what the server takes to give up a
/// connection that is silent, after which another one can lead.
const LEADS_FOR: Duration = Duration::from_secs(9);

/// The pause before the server is asked again that gave no answer, and how often a node that does not lead
/// looks whether it can.
const PAUSE: Duration = Duration::from_secs(1);

/// What the leader of a schema locks, with the schema's hash. The bytes of "lead".
const LEADER_LOCK: i32 = 0x6c65_6164;

/// How this node stands. None of it holds for longer than it says.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Set while it leads.
    pub leads: Option<Leadership>,
}

/// The right to receive for the channels, to run schedules, and to look after nodes that are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leadership {
    /// Which leader of the database it is.
    pub epoch: i64,
    /// It is over at this time, unless it is renewed before.
    pub until: Instant,
}

/// What another node has changed; the triggers of the tables tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Who may use the bot.
    Access,
    /// A schedule.
    Schedules,
    /// A decision about a call of this node.
    Decision,
    /// Something was received for a chat of this node.
    Received,
    /// A task or a message of a chat of this node.
    Chat,
}

/// A node's membership, which ends when it is dropped.
#[derive(Debug)]
pub struct Membership {
    /// The name of this node.
    pub node: String,
    pub standing: watch::Receiver<Standing>,
    pub heard: mpsc::UnboundedReceiver<Heard>,
}

struct Member {
    address: Arc<ServerAddress>,
    node: String,
    shares_workspaces: bool,
    /// Increments with every commit, of this node or another.
    changed: Arc<watch::Sender<u64>>,
    standing: watch::Sender<Standing>,
    heard: mpsc::UnboundedSender<Heard>,
    /// When all were woken last.
    looked_at: Cell<Option<Instant>>,
}

impl Store {
    /// Becomes a node of the database; none where the database is a file, or the program is no node.
    pub fn join(
        &self,
        location: &Location,
        shares_workspaces: bool,
    ) -> Result<Option<Membership>, StoreError> {
        let Location::Server(address) = location else { return Ok(None) };
        let Some(node) = address.node().map(str::to_owned) else { return Ok(None) };
        let (standing, stands) = watch::channel(Standing::default());
        let (heard, hears) = mpsc::unbounded_channel();
        let changed = Arc::clone(&self.changed);
        let address = Arc::clone(address);
        let looked_at = Cell::default();
        let mut member =
            Member { address, node: node.clone(), shares_workspaces, changed, standing, heard, looked_at };
        let (joined, has_joined) = std::sync::mpsc::channel();
        thread::Builder::new()
            .name("node".to_owned())
            .spawn(move || match member.join() {
                Ok(connection) => {
                    let _ = joined.send(Ok(()));
                    member.keep(connection);
                }
                Err(error) => drop(joined.send(Err(error))),
            })
            .map_err(StoreError::Thread)?;
        has_joined.recv().map_err(|_| StoreError::Closed)??;
        Ok(Some(Membership { node, standing: stands, heard: hears }))
    }
}

impl Member {
    /// Connects, and takes its place among the nodes.
    fn join(&mut self) -> Result<Connection, StoreError> {
        let session = Session::connect(&self.address, false)?;
        session.listen()?;
        let connection = Connection::Server(Box::new(session));
        self.register(&connection)?;
        self.beat(&connection)?;
        Ok(connection)
    }

    fn register(&self, connection: &Connection) -> Result<(), StoreError> {
        let sql = "insert into nodes (name, started_at_ms, seen_at_ms, state, shares_workspaces)
                   values (?1, server_ms(), server_ms(), 'active', ?2)
                   on conflict (name) do update set
                       started_at_ms = server_ms(), seen_at_ms = server_ms(), spoken_for_by = null,
                       shares_workspaces = excluded.shares_workspaces,
                       state = case nodes.state when 'gone' then 'active' else nodes.state end";
        connection.execute(sql, params![self.node, self.shares_workspaces])?;
        Ok(())
    }

    /// Until the node stops.
    fn keep(&mut self, connection: Connection) {
        let mut connection = Some(connection);
        while !self.standing.is_closed() {
            let kept = match &connection {
                Some(connection) => self.listen(connection).and_then(|()| self.beat(connection)),
                None => self.join().map(|joined| connection = Some(joined)),
            };
            if let Err(error) = kept {
                tracing::warn!(%error, node = self.node, "the node is not heard of; trying again");
                connection = None;
                self.standing.send_modify(|standing| standing.leads = None);
                thread::sleep(PAUSE);
            }
        }
    }

    /// Says that the node is there, and leads if no other node does.
    fn beat(&self, connection: &Connection) -> Result<(), StoreError> {
        let began = Instant::now();
        let sql = "update nodes set seen_at_ms = server_ms() where name = ?1 and state <> 'gone'";
        if connection.execute(sql, [&self.node])? == 0 {
            tracing::warn!(node = self.node, "the node was taken for gone; it joins again");
            self.register(connection)?;
        }
        let epoch = match self.standing.borrow().leads {
            Some(Leadership { epoch, .. }) => {
                let sql = "update leaders set until_ms = server_ms() where epoch = ?1";
                connection.execute(sql, [epoch])?;
                Some(epoch)
            }
            None => self.try_to_lead(connection)?,
        };
        let leads = epoch.map(|epoch| Leadership { epoch, until: began + LEADS_FOR });
        // What was not heard of is seen then.
        let is_time = self.looked_at.get().is_none_or(|at| at.elapsed() >= BEAT);
        if is_time {
            self.looked_at.set(Some(began));
            self.changed.send_modify(|count| *count += 1);
        }
        self.standing.send_if_modified(|standing| {
            let is_new = standing.leads != leads;
            standing.leads = leads;
            is_new || is_time
        });
        Ok(())
    }

    fn try_to_lead(&self, connection: &Connection) -> Result<Option<i64>, StoreError> {
        let sql = format!("select pg_try_advisory_lock({LEADER_LOCK}, hashtext(current_schema()))");
        if !connection.query_row(&sql, [], |row| row.get::<bool>(0))? {
            self.free_the_lock(connection)?;
            return Ok(None);
        }
        let sql = "insert into leaders (node, since_ms, until_ms) values (?1, server_ms(), server_ms())
                   returning epoch";
        let epoch = connection.query_row(sql, [&self.node], |row| row.get(0))?;
        tracing::info!(node = self.node, epoch, "this node leads");
        Ok(Some(epoch))
    }

    /// Ends the connection of a leader that was not heard of for its lease, such as one that is suspended.
    fn free_the_lock(&self, connection: &Connection) -> Result<(), StoreError> {
        let stale = "select name from nodes
                     where name = (select node from leaders order by epoch desc limit 1)
                         and seen_at_ms < server_ms() - ?1";
        let lease = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
        let leader = connection.query_optional(stale, [lease], |row| row.get::<String>(0))?;
        let Some(leader) = leader else { return Ok(()) };
        let sql = format!(
            "select pg_terminate_backend(pid) from pg_locks
             where locktype = 'advisory' and granted and objsubid = 2
                 and database = (select oid from pg_database where datname = current_database())
                 and classid::bigint = {LEADER_LOCK}
                 and objid::bigint = hashtext(current_schema())::bigint & 4294967295"
        );
        connection.prepare(&sql)?.query([])?;
        tracing::warn!(leader, "nothing was heard of the leader; its connection was ended");
        Ok(())
    }

    /// Passes on what other nodes tell, until the next beat.
    fn listen(&self, connection: &Connection) -> Result<(), StoreError> {
        let Connection::Server(session) = connection else { return Ok(()) };
        // A leader that is gone is followed soon.
        let is_leader = self.standing.borrow().leads.is_some();
        let next_beat = Instant::now() + if is_leader { BEAT } else { PAUSE };
        while let Some(patience) = next_beat.checked_duration_since(Instant::now()) {
            for heard in session.hear(patience.min(PAUSE))?.iter().filter_map(|said| self.understand(said)) {
                if heard == Heard::Chat {
                    self.changed.send_modify(|count| *count += 1);
                }
                let _ = self.heard.send(heard);
            }
            if self.standing.is_closed() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// What a notification means: a word, and for some the node that it is for.
    fn understand(&self, said: &str) -> Option<Heard> {
        let (word, node) = said.split_once(' ').map_or((said, None), |(word, node)| (word, Some(node)));
        let heard = match word {
            "access" => Heard::Access,
            "schedules" => Heard::Schedules,
            "decision" => Heard::Decision,
            "received" => Heard::Received,
            "chat" => Heard::Chat,
            _ => return None,
        };
        node.is_none_or(|node| node == self.node).then_some(heard)
    }
}
