#include "tools/doctor/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trireme::tools::doctor {
namespace {

Finding finding_of(const OptionalPart& part) {
    if (part.is_there) return {.name = part.name, .status = Status::ok, .text = part.gives};
    return {.name = part.name,
            .status = Status::missing,
            .text = part.gives,
            .advice = fmt::format("Debian: {}; Spack: {}{}", part.debian, part.spack,
                                  part.is_built_in ? "; then build again" : "")};
}

}  // namespace

const char* name_of(Status status) {
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

const char* name_of(Launcher launcher) {
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

std::vector<Finding> findings_of(const Facts& facts) {
    std::vector<Finding> all = start_findings(facts);
    for (Finding& finding : machine_findings(facts)) all.push_back(std::move(finding));
    for (Finding& finding : speed_findings(facts)) all.push_back(std::move(finding));
    for (const OptionalPart& part : facts.parts) all.push_back(finding_of(part));
    for (Finding& finding : all) {
        if (finding.status == Status::ok && !finding.advice.empty()) finding.status = Status::warning;
    }
    return all;
}

bool do_all_work(const std::vector<Finding>& findings) {
    return std::ranges::none_of(findings,
                                [](const Finding& finding) { return finding.status == Status::fails; });
}

std::map<int, std::vector<int>> ranks_of_nodes(const std::vector<RankFacts>& ranks) {
    std::map<int, std::vector<int>> nodes;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        nodes[ranks[rank].node].push_back(static_cast<int>(rank));
    return nodes;
}

}  // namespace trireme::tools::doctor
