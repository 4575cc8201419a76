#include "tools/doctor/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trireme::tools::doctor {
namespace {

Finding make_finding(const OptionalSoftware& software) {
    if (software.is_installed) return {.name = software.name, .status = Status::ok, .text = software.purpose};
    return {.name = software.name,
            .status = Status::missing,
            .text = software.purpose,
            .advice = fmt::format("install it (Debian: {}; Spack: {}){}", software.debian, software.spack,
                                  software.needs_rebuild ? ", then build Trireme again" : "")};
}

}  // namespace

const char* to_string(Status status) {
    switch (status) {
        case Status::ok:
            return "ok";
        case Status::warning:
            return "warning";
        case Status::missing:
            return "missing";
        case Status::fails:
            return "fails";
    }
    return "";
}

const char* to_string(Launcher launcher) {
    switch (launcher) {
        case Launcher::none:
            return "none";
        case Launcher::srun:
            return "srun";
        case Launcher::mpirun_of_open_mpi:
            return "mpirun of Open MPI";
        case Launcher::mpiexec_of_mpich:
            return "mpiexec of MPICH";
    }
    return "";
}

std::vector<Finding> judge_facts(const Facts& facts) {
    std::vector<Finding> all = judge_start(facts);
    for (Finding& finding : judge_machine(facts)) all.push_back(std::move(finding));
    for (Finding& finding : judge_speeds(facts)) all.push_back(std::move(finding));
    for (const OptionalSoftware& software : facts.optional_software) all.push_back(make_finding(software));
    for (Finding& finding : all) {
        if (finding.status == Status::ok && !finding.advice.empty()) finding.status = Status::warning;
    }
    return all;
}

bool is_everything_working(const std::vector<Finding>& findings) {
    return std::ranges::none_of(findings,
                                [](const Finding& finding) { return finding.status == Status::fails; });
}

std::map<int, std::vector<int>> group_ranks_by_node(const std::vector<RankFacts>& ranks) {
    std::map<int, std::vector<int>> nodes;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        nodes[ranks[rank].node].push_back(static_cast<int>(rank));
    return nodes;
}

}  // namespace trireme::tools::doctor
