//! Drives the real agent. Each file is a module, found by itself; they are one program, because each program of its own
//! takes nine seconds to compile.

mod common;

automod::dir!("tests/agent");
