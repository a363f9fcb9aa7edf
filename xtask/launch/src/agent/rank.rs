//! The rank of this process, from the variables of the engine that started it: all of them, or none counts.

use std::fmt;

/// A place among the ranks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaunchRank {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// Its place among the ranks of its host.
    pub(crate) local: u32,
}

/// A reason why a rank cannot begin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AgentError(pub(crate) String);

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The variables of rank, size and local rank; all of a row, or the row does not count.
type RankVariables = [&'static str; 3];

const OURS: RankVariables = ["WEIGHBRIDGE_RANK", "WEIGHBRIDGE_RANKS", "WEIGHBRIDGE_LOCAL_RANK"];
const SLURM: RankVariables = ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"];
const TORCHRUN: RankVariables = ["RANK", "WORLD_SIZE", "LOCAL_RANK"];
const OPEN_MPI: RankVariables =
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"];
const MPICH: RankVariables = ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"];

/// The rows that an engine sets, the first that is there counts.
fn rows(engine: &str) -> &'static [RankVariables] {
    match engine {
        "slurm" => &[SLURM],
        "torchrun" => &[TORCHRUN],
        "mpirun" => &[OPEN_MPI, MPICH],
        _ => &[OURS],
    }
}

/// Finds the rank of a process that this engine started. `get` reads a variable.
///
/// # Errors
/// When a row is there in part, is no number, or is of another size than the launch: never a rank by guess.
pub(crate) fn find(
    engine: &str,
    ranks: u32,
    get: impl Fn(&str) -> Option<String>,
) -> Result<LaunchRank, AgentError> {
    for row in rows(engine) {
        let found: Vec<Option<String>> = row.iter().map(|name| get(name)).collect();
        if found.iter().all(Option::is_none) {
            continue;
        }
        let mut numbers = [0; 3];
        for ((name, text), number) in row.iter().zip(&found).zip(&mut numbers) {
            let text = text.as_deref().ok_or_else(|| {
                AgentError(format!("{} is set and {name} is not: half a rank is none", row[0]))
            })?;
            *number =
                text.parse().map_err(|_| AgentError(format!("{name} is `{text}`, which is no number")))?;
        }
        let [rank, size, local] = numbers;
        if size != ranks {
            return Err(AgentError(format!("{engine} started {size} ranks, and {ranks} were asked for")));
        }
        if rank >= size || local > rank {
            return Err(AgentError(format!("{} {rank}, local {local} of {size} cannot be", row[0])));
        }
        return Ok(LaunchRank { rank, ranks, local });
    }
    Err(AgentError(format!("{engine} did not say which rank this is: {} is not set", rows(engine)[0][0])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(engine: &str, set: &[(&str, &str)]) -> Result<LaunchRank, String> {
        let get = |name: &str| set.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
        find(engine, 4, get).map_err(|error| error.0)
    }

    #[test]
    fn each_engine_is_read_by_its_own_variables_alone() {
        let slurm = [("SLURM_PROCID", "3"), ("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_LOCALID", "1")];
        let expected = LaunchRank { rank: 3, ranks: 4, local: 1 };
        assert_eq!(read("slurm", &slurm), Ok(expected));
        // Under mpirun in an allocation they are those of its daemon.
        let mpi = [
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ];
        let both = [slurm, mpi].concat();
        assert_eq!(read("mpirun", &both), Ok(LaunchRank { rank: 2, ranks: 4, local: 0 }));
        let mpich = [("PMI_RANK", "1"), ("PMI_SIZE", "4"), ("MPI_LOCALRANKID", "1")];
        assert_eq!(read("mpirun", &mpich), Ok(LaunchRank { rank: 1, ranks: 4, local: 1 }));
        assert!(read("torchrun", &both).unwrap_err().contains("RANK is not set"));
    }

    #[test]
    fn half_a_row_another_size_and_what_cannot_be_are_errors_and_no_rank_0() {
        // As in a batch script that nothing but the shell was started in.
        let batch = [("SLURM_PROCID", "0"), ("SLURM_LOCALID", "0")];
        assert!(read("slurm", &batch).unwrap_err().contains("SLURM_STEP_NUM_TASKS is not"));
        let slurm = |rank, size, local| {
            read("slurm", &[("SLURM_PROCID", rank), ("SLURM_STEP_NUM_TASKS", size), ("SLURM_LOCALID", local)])
        };
        assert!(slurm("0", "2", "0").unwrap_err().contains("started 2 ranks, and 4"));
        assert!(slurm("0", "8", "0").unwrap_err().contains("started 8 ranks, and 4"));
        assert!(slurm("4", "4", "0").unwrap_err().contains("cannot be"));
        assert!(slurm("1", "4", "2").unwrap_err().contains("cannot be"));
        assert!(slurm("-1", "4", "0").unwrap_err().contains("no number"));
        assert!(read("local", &[]).unwrap_err().contains("WEIGHBRIDGE_RANK is not set"));
    }
}
