// What a process was told of the job that it was started in, by Slurm or by an MPI library's launcher.
#pragma once

#include <optional>
#include <string>

namespace trireme {

struct Job {
    std::string id = {};                              // Slurm's; empty outside of a job
    int restarts = 0;                                 // how often Slurm has put it back into the queue
    std::optional<double> end_time = {};              // when Slurm will end it, in seconds since 1970
    std::optional<int> cores_per_rank = {};           // --cpus-per-task
    std::optional<int> local_rank = {};               // this process among those of its node and job step
    std::optional<std::string> visible_devices = {};  // CUDA_VISIBLE_DEVICES; none: all are
};

// The value of a variable of the environment, as std::getenv gives it; nullptr where there is none.
using Variables = const char* (*)(const char* name);

// Values that are no numbers count as not given: they are the launcher's, and nobody can mend them here.
Job job_of(Variables variables);

// Until Slurm ends it, which may be over already; none: nobody said when.
std::optional<double> seconds_left(const Job& job);

}  // namespace trireme
