// What facts mean for whoever wants to train here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/doctor/facts.hpp"

namespace trireme::doctor {

// Something is missing where a run does without it; it fails where no run will do.
// A warning works, and gives advice.
enum class Status : std::uint8_t { ok, warning, missing, fails };

struct Finding {
    std::string name;  // "scratch"
    Status status = Status::ok;
    std::string text = {};    // with figures
    std::string advice = {};  // what to do; empty: nothing
};

const char* name_of(Status status);      // "ok"
const char* name_of(Launcher launcher);  // "srun"; "none"

// In the order in which they are told.
std::vector<Finding> findings_of(const Facts& facts);

// The parts of findings_of().
std::vector<Finding> start_findings(const Facts& facts);    // program, MPI, ranks, the job
std::vector<Finding> machine_findings(const Facts& facts);  // cores, memory, arithmetic, GPUs
std::vector<Finding> speed_findings(const Facts& facts);    // HDF5, scratch, links

bool do_all_work(const std::vector<Finding>& findings);

}  // namespace trireme::doctor
