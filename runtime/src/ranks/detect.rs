//! Which rank this process is: from what its launcher has set, whole sets alone.

use super::launcher::{LAUNCH, LAUNCHERS, Launcher, LocalRank, OF_LAUNCH, RANKS, RENDEZVOUS};

/// The place of this process among the ranks of its launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankSeat {
    /// The launcher's name.
    pub(crate) launcher: &'static str,
    /// Its rank, from 0.
    pub(crate) rank: usize,
    /// The number of ranks.
    pub(crate) ranks: usize,
    /// Its rank among those of its machine; `None` where the launcher does not tell.
    pub(crate) local_rank: Option<usize>,
    /// The id of the launch: no other one has it, and every rank of it does.
    pub(crate) launch: String,
    /// The place where ranks meet, where one is named.
    pub(crate) rendezvous: Option<String>,
}

/// The beginning of the id of a launch that this program has made itself, on one machine.
const LOCAL: &str = "local-";

impl RankSeat {
    /// The variables that give this seat to a process.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let own = &LAUNCHERS[0];
        let local = self.local_rank.unwrap_or(self.rank);
        let mut found = vec![
            (own.rank, self.rank.to_string()),
            (RANKS, self.ranks.to_string()),
            (super::launcher::LOCAL_RANK, local.to_string()),
            (LAUNCH, self.launch.clone()),
        ];
        found.extend(self.rendezvous.clone().map(|place| (RENDEZVOUS, place)));
        found
    }

    /// The id of a launch of local ranks by this process.
    pub(crate) fn local_launch(drawn: u64) -> String {
        format!("{LOCAL}{}-{drawn:016x}", std::process::id())
    }

    /// Tells whether a process of this program has started all ranks, on this machine: it speaks for them
    /// where machines are locked, and nobody else need reach them.
    pub(crate) fn is_local(&self) -> bool {
        self.launch.starts_with(LOCAL)
    }
}

/// The reason why it is not known which rank this process is. It is never taken for rank 0 then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// A part of what a launcher sets is missing.
    #[error(
        "{launcher} has set {set} and not {missing}: which rank this process is cannot be known. Set \
         {missing} as well, or unset {set} to run alone"
    )]
    Half {
        /// The launcher.
        launcher: &'static str,
        /// A variable that is set.
        set: String,
        /// One that is not.
        missing: String,
    },
    /// A variable says what is no number.
    #[error("{variable} is `{value}`, which is no whole number: {launcher} sets it to one")]
    NoNumber {
        /// The launcher.
        launcher: &'static str,
        /// The variable.
        variable: String,
        /// Its value.
        value: String,
    },
    /// A rank is none of so many.
    #[error(
        "{variable} is {rank} of {size_variable} {size}: ranks count from 0, so the last one is {}",
        size.saturating_sub(1)
    )]
    OutOfRange {
        /// The variable of the rank.
        variable: String,
        /// The rank.
        rank: usize,
        /// The variable of their number.
        size_variable: String,
        /// Their number.
        size: usize,
    },
    /// The number of ranks that is stated is another one.
    #[error("WEIGHBRIDGE_RANKS is {stated}, and {launcher} has started {size}: one of the two is wrong")]
    OtherSize {
        /// The number that is stated.
        stated: usize,
        /// The launcher.
        launcher: &'static str,
        /// The number of ranks that it has started.
        size: usize,
    },
    /// The number of ranks is stated, and nobody says which one this is.
    #[error(
        "WEIGHBRIDGE_RANKS is {0}, and no launcher says which rank this process is: start it by one, start \
         local ranks with `--ranks {0}`, or unset it"
    )]
    NoRank(String),
}

/// The variables that differ from launch to launch and change nothing of what is measured.
pub(crate) fn variables_of_launch() -> &'static [&'static str] {
    OF_LAUNCH
}

/// Finds the place of this process among ranks; `None` where it runs alone. `variable` looks a variable of
/// the environment up: what is empty is not set.
///
/// # Errors
/// A set of which only a part is there; a value that cannot be.
pub(crate) fn detect(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<RankSeat>, LaunchError> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    for launcher in LAUNCHERS {
        let (names, least) = launcher.meant;
        let set: Vec<&str> = names.iter().copied().filter(|name| variable(name).is_some()).collect();
        if set.len() >= least {
            let seat = seat(launcher, set[0], &variable)?;
            check_stated(&seat, &variable)?;
            return Ok(Some(seat).filter(|seat| seat.ranks > 1));
        }
    }
    variable(RANKS).map_or(Ok(None), |stated| Err(LaunchError::NoRank(stated)))
}

fn seat(
    launcher: &Launcher,
    set: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<RankSeat, LaunchError> {
    let Launcher { name, rank, size, local, also, id, .. } = *launcher;
    let missing = |missing: &str| LaunchError::Half {
        launcher: name,
        set: set.to_owned(),
        missing: missing.to_owned(),
    };
    let number = |of: &str| -> Result<usize, LaunchError> {
        let value = variable(of).ok_or_else(|| missing(of))?;
        let no_number =
            || LaunchError::NoNumber { launcher: name, variable: of.to_owned(), value: value.clone() };
        value.trim().parse().map_err(|_| no_number())
    };
    let size_name = size.iter().copied().find(|name| variable(name).is_some()).unwrap_or(size[0]);
    let (own, ranks) = (number(rank)?, number(size_name)?);
    for other in also {
        variable(other).ok_or_else(|| missing(other))?;
    }
    if own >= ranks {
        return Err(LaunchError::OutOfRange {
            variable: rank.to_owned(),
            rank: own,
            size_variable: size_name.to_owned(),
            size: ranks,
        });
    }
    let local_rank = match local {
        LocalRank::Told(name) => Some(number(name)?),
        LocalRank::Perhaps(name) => variable(name).map(|_| number(name)).transpose()?,
        LocalRank::First => Some(0),
        LocalRank::Untold => None,
    };
    let told: Vec<String> = id.iter().filter_map(|name| variable(name)).collect();
    let drawn = || format!("{} {}", name, told.join(" "));
    Ok(RankSeat {
        launcher: name,
        rank: own,
        ranks,
        local_rank,
        launch: variable(LAUNCH).unwrap_or_else(drawn).trim().to_owned(),
        rendezvous: variable(RENDEZVOUS),
    })
}

/// Holds the number of ranks against the one that is stated beside the launcher's own.
fn check_stated(seat: &RankSeat, variable: &dyn Fn(&str) -> Option<String>) -> Result<(), LaunchError> {
    let Some(value) = variable(RANKS) else { return Ok(()) };
    let no_number = || LaunchError::NoNumber {
        launcher: "weighbridge",
        variable: RANKS.to_owned(),
        value: value.clone(),
    };
    let stated: usize = value.trim().parse().map_err(|_| no_number())?;
    if stated == seat.ranks {
        return Ok(());
    }
    Err(LaunchError::OtherSize { stated, launcher: seat.launcher, size: seat.ranks })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seat that these variables give: `NAME=value`, with spaces between them.
    fn of(variables: &str) -> Result<Option<RankSeat>, LaunchError> {
        let set: Vec<(&str, &str)> =
            variables.split_whitespace().filter_map(|one| one.split_once('=')).collect();
        detect(&|name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned()))
    }

    fn who(variables: &str) -> (&'static str, usize, usize, Option<usize>) {
        let seat = of(variables).unwrap().unwrap_or_else(|| panic!("{variables}: it is alone"));
        (seat.launcher, seat.rank, seat.ranks, seat.local_rank)
    }

    const TORCHRUN: &str =
        "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 MASTER_ADDR=node0 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none";
    const OPEN_MPI: &str = "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0";
    const MPICH: &str = "PMI_RANK=1 PMI_SIZE=3 MPI_LOCALRANKID=1";
    const SLURM: &str = "SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=0 SLURM_STEP_ID=0 \
        SLURM_JOB_ID=8 SLURM_NTASKS=16";
    const JAX: &str = "JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=2 JAX_COORDINATOR_ADDRESS=node0:1234";
    const SKY: &str = "SKYPILOT_NODE_RANK=1 SKYPILOT_NUM_NODES=2 SKYPILOT_NODE_IPS=10.0.0.1";
    const KUBERNETES: &str = "JOB_COMPLETION_INDEX=1 WEIGHBRIDGE_RANKS=2 WEIGHBRIDGE_LAUNCH=job-uid";
    const OWN: &str = "WEIGHBRIDGE_RANK=1 WEIGHBRIDGE_RANKS=2 WEIGHBRIDGE_LOCAL_RANK=1 WEIGHBRIDGE_LAUNCH=l";

    #[test]
    fn every_launcher_is_known_by_its_whole_set() {
        assert_eq!(who(TORCHRUN), ("torchrun", 5, 8, Some(1)));
        assert_eq!(who(OPEN_MPI), ("Open MPI", 2, 4, Some(0)));
        assert_eq!(who(MPICH), ("MPICH", 1, 3, Some(1)));
        assert_eq!(who("PMI_RANK=1 PMI_SIZE=3"), ("MPICH", 1, 3, None));
        assert_eq!(who(SLURM), ("Slurm", 3, 4, Some(0)), "the tasks of the step, and not of the allocation");
        assert_eq!(who(JAX), ("JAX", 1, 2, None));
        assert_eq!(who(SKY), ("SkyPilot", 1, 2, Some(0)));
        assert_eq!(who(KUBERNETES), ("Kubernetes", 1, 2, Some(0)));
        assert_eq!(who(OWN), ("weighbridge", 1, 2, Some(1)));
        assert_eq!(of("").unwrap(), None);
    }

    #[test]
    fn of_launchers_within_each_other_the_innermost_counts() {
        assert_eq!(who(&format!("{SLURM} {OPEN_MPI}")).0, "Open MPI");
        assert_eq!(who(&format!("{SLURM} {OPEN_MPI} {TORCHRUN}")).0, "torchrun");
        assert_eq!(who(&format!("{SKY} {JAX}")).0, "JAX");
        let all = format!("{SLURM} {OPEN_MPI} {TORCHRUN} {JAX} {SKY} {OWN} JOB_COMPLETION_INDEX=0");
        assert_eq!(who(&all).0, "weighbridge");
    }

    #[test]
    fn a_batch_script_an_index_alone_and_a_name_that_is_anybodys_are_no_ranks() {
        for alone in [
            "SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_JOB_ID=8",
            "JOB_COMPLETION_INDEX=3",
            "RANK=7",
            "WORLD_SIZE=2 MASTER_ADDR=localhost",
            "OMPI_COMM_WORLD_RANK= OMPI_COMM_WORLD_SIZE=",
            "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_LOCALID=0 SLURM_STEP_ID=0",
            "WEIGHBRIDGE_LAUNCH=left-over WEIGHBRIDGE_RENDEZVOUS=/shared",
        ] {
            assert_eq!(of(alone), Ok(None), "{alone}");
        }
    }

    #[test]
    fn half_a_set_is_an_error_that_names_what_is_missing_and_never_rank_0() {
        for (variables, missing) in [
            ("WEIGHBRIDGE_RANK=0", "WEIGHBRIDGE_RANKS"),
            ("WEIGHBRIDGE_RANK=0 WEIGHBRIDGE_RANKS=2 WEIGHBRIDGE_LOCAL_RANK=0", "WEIGHBRIDGE_LAUNCH"),
            ("RANK=0 WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=1", "LOCAL_RANK"),
            ("RANK=0 WORLD_SIZE=4 LOCAL_RANK=0", "MASTER_ADDR"),
            ("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE"),
            ("OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_RANK"),
            ("PMI_SIZE=2", "PMI_RANK"),
            ("SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_LOCALID=0", "SLURM_STEP_NUM_TASKS"),
            ("JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=2", "JAX_COORDINATOR_ADDRESS"),
            ("SKYPILOT_NODE_RANK=0 SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_IPS"),
            ("JOB_COMPLETION_INDEX=1 WEIGHBRIDGE_RANKS=2", "WEIGHBRIDGE_LAUNCH"),
        ] {
            let refused = of(variables).unwrap_err();
            assert!(
                matches!(&refused, LaunchError::Half { missing: named, .. } if named == missing),
                "{variables}: {refused}"
            );
            assert!(refused.to_string().contains(missing), "{refused}");
        }
        let said = of("WEIGHBRIDGE_RANKS=4").unwrap_err().to_string();
        assert!(said.contains("WEIGHBRIDGE_RANKS is 4") && said.contains("--ranks 4"), "{said}");
    }

    #[test]
    fn what_cannot_be_is_named_with_its_variable_and_value() {
        for (variables, words) in [
            (
                "PMI_RANK=3 PMI_SIZE=3",
                "PMI_RANK is 3 of PMI_SIZE 3: ranks count from 0, so the last one is 2",
            ),
            ("PMI_RANK=0 PMI_SIZE=0", "PMI_RANK is 0 of PMI_SIZE 0"),
            ("PMI_RANK=one PMI_SIZE=3", "PMI_RANK is `one`, which is no whole number"),
            ("PMI_RANK=-1 PMI_SIZE=3", "PMI_RANK is `-1`"),
            ("PMI_RANK=1 PMI_SIZE=3.0", "PMI_SIZE is `3.0`"),
            ("PMI_RANK=1 PMI_SIZE=99999999999999999999", "PMI_SIZE is `99999999999999999999`"),
            ("PMI_RANK=1 PMI_SIZE=3 MPI_LOCALRANKID=x", "MPI_LOCALRANKID is `x`"),
            ("PMI_RANK=1 PMI_SIZE=3 WEIGHBRIDGE_RANKS=4", "WEIGHBRIDGE_RANKS is 4, and MPICH has started 3"),
            ("PMI_RANK=1 PMI_SIZE=3 WEIGHBRIDGE_RANKS=all", "WEIGHBRIDGE_RANKS is `all`"),
        ] {
            let said = of(variables).unwrap_err().to_string();
            assert!(said.contains(words), "{variables}: {said}");
        }
    }

    #[test]
    fn two_steps_of_one_allocation_and_a_job_that_is_queued_again_are_other_launches() {
        let id = |variables: &str| of(variables).unwrap().unwrap().launch;
        let step = id(SLURM);
        assert_ne!(step, id(&SLURM.replace("SLURM_STEP_ID=0", "SLURM_STEP_ID=1")));
        assert_ne!(step, id(&format!("{SLURM} SLURM_RESTART_COUNT=1")));
        assert_eq!(step, id(&SLURM.replace("PROCID=3", "PROCID=1")), "every rank of it has the same");
        assert_eq!(id(&format!("{SLURM} WEIGHBRIDGE_LAUNCH=mine")), "mine");
    }

    #[test]
    fn a_seat_is_handed_on_as_it_is() {
        let seat = RankSeat {
            launcher: "weighbridge",
            rank: 2,
            ranks: 4,
            local_rank: Some(2),
            launch: RankSeat::local_launch(7),
            rendezvous: Some("/tmp/meet".to_owned()),
        };
        let set = seat.variables();
        let found = detect(&|name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.clone()));
        assert_eq!(found, Ok(Some(seat.clone())));
        assert!(seat.is_local() && !of(OWN).unwrap().unwrap().is_local());
    }
}
