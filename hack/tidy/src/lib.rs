//! Checks the arrows between the rooms and the habits of the code.
