//! A command in a container: an image that was uploaded with it, run by podman, or by Docker if there is no podman.
//!
//! The container has no network, and sees only the folder of the run and the folder of files. The measured time
//! includes its start and its end. Docker's containers belong to Docker's service: they are removed after the run, but
//! if the agent is killed its container keeps running.

use std::fs;

use super::must_end_well;
use super::output::first_line;
use super::workspace::Workspace;
use crate::fault::{Fault, OrFault};
use crate::probe::Context;
use crate::supervisor::How;

const ENGINES: [&str; 2] = ["podman", "docker"];

pub struct Container<'a> {
    workspace: &'a Workspace<'a>,
    engine: &'static str,
    image: String,
    home: String,
    name: String,
    cpus: String,
}

impl<'a> Container<'a> {
    /// Loads the image, once per launch; `None` for a command without an image.
    pub fn load(context: &Context, workspace: &'a Workspace<'a>) -> Result<Option<Container<'a>>, Fault> {
        if context.text("image") != "yes" {
            return Ok(None);
        }
        let first_output_line = |line: &str| -> Result<String, Fault> {
            let done = workspace.inside(line, workspace.limit(), false)?;
            Ok(if done.how == How::Exit(0) { first_line(&done.stdout.bytes) } else { String::new() })
        };
        let mut engine = None;
        for one in ENGINES {
            if engine.is_none() && !first_output_line(&format!("command -v {one}"))?.is_empty() {
                engine = Some(one);
            }
        }
        let next = "take an image of the machine that has one, or leave image out";
        let engine = engine.ok_or_else(|| Fault::failed("no podman or docker on the machine", next))?;
        // Without root, podman stores images in the user's home; the folder of a run would be deleted with them.
        let home = first_output_line("getent passwd \"$(id -u)\" | cut -d: -f6")?;
        let image = load_image(context, workspace, engine, &home)?;
        let name = format!("cloudcmp-{}-{:x}", std::process::id(), crate::clock::now_ns());
        let cpus: Vec<String> = context.job.cpus.iter().map(ToString::to_string).collect();
        context.out.note("container_engine", engine)?;
        Ok(Some(Container { workspace, engine, image, home, name, cpus: cpus.join(",") }))
    }

    /// Returns the line that runs `text` in the container.
    pub fn line(&self, text: &str) -> String {
        // Processes started by podman inherit our CPUs; those started by Docker's service do not.
        let cpus = if self.engine == "docker" { format!("--cpuset-cpus={} ", self.cpus) } else { String::new() };
        let volume = |from: &std::path::Path, to: &str| quoted(&format!("{}:{to}", from.display()));
        format!(
            "HOME={} exec {} run --rm --name {} --network=none {cpus}--volume {} --volume {} --workdir /work \
             --env HOME=/work --env CLOUDCMP_FILES=/files --env CLOUDCMP_THREADS --env CLOUDCMP_SEED --env LANG \
             --entrypoint /bin/sh {} -c {}",
            quoted(&self.home),
            self.engine,
            self.name,
            volume(&self.workspace.run_dir(), "/work"),
            volume(self.workspace.files(), "/files"),
            quoted(&self.image),
            quoted(text)
        )
    }

    /// Removes a container that Docker's service may still run.
    pub fn clean(&self) -> Result<(), Fault> {
        if self.engine == "docker" {
            self.workspace.inside(&format!("docker rm -f {}", self.name), self.workspace.limit(), false)?;
        }
        Ok(())
    }
}

/// Returns the name of the image in the archive; loads it if this launch has not yet done so.
fn load_image(context: &Context, workspace: &Workspace, engine: &str, home: &str) -> Result<String, Fault> {
    let archive = context.dir()?.join("images").join(format!("{}.tar", context.text("command")));
    let archive = archive.canonicalize().or_fault("the image is not on the machine", "report this")?;
    let marker = archive.with_extension("loaded");
    if let Ok(image) = fs::read_to_string(&marker) {
        return Ok(image);
    }
    let line = format!("HOME={} {engine} load -i {}", quoted(home), quoted(&archive.to_string_lossy()));
    let done = workspace.inside(&line, workspace.setup_limit(), false)?;
    must_end_well("loading the image", &done)?;
    let image = parse_image_name(&String::from_utf8_lossy(&done.stdout.bytes));
    let image = image.ok_or_else(|| Fault::failed("the archive does not hold one image", "save one image into it"))?;
    fs::write(&marker, &image).or_fault("cannot mark the image as loaded", "see the disk and its permissions")?;
    Ok(image)
}

/// Parses the name of the only image that an engine reports as loaded.
fn parse_image_name(output: &str) -> Option<String> {
    let names: Vec<&str> = output
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Loaded image"))
        .filter_map(|rest| rest.split_once(": ").map(|(_, name)| name.trim()))
        .collect();
    match names.as_slice() {
        [one] if !one.is_empty() && !one.contains([',', ' ']) => Some((*one).to_owned()),
        _ => None,
    }
}

/// Quotes a text as one word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_single_image_is_parsed() {
        assert_eq!(parse_image_name("Loaded image: localhost/tiny:1\n").unwrap(), "localhost/tiny:1");
        assert_eq!(parse_image_name("Loaded image(s): tiny:latest\n").unwrap(), "tiny:latest");
        assert_eq!(parse_image_name("Loaded image ID: sha256:93d5\n").unwrap(), "sha256:93d5");
        for wrong in ["", "Loaded image: \n", "Loaded image: a\nLoaded image: b\n", "Loaded image(s): a,b\n"] {
            assert_eq!(parse_image_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_quoted_text_is_one_word() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
