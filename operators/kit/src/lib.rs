//! What every operator process has: arguments, clients, election, metrics, queues, writer.
