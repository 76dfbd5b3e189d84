//! Git inside of the sandbox and beside it: what the agent leaves behind is not run, and honest work works.

mod allowed;
mod attacks;
mod file_tools;
mod operator;
mod work;
