//! Checks the arrows between the rooms and the habits of the code; all of it is in the tests.
