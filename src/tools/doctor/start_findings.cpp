#include <fmt/format.h>

#include <map>
#include <utility>

#include "tools/doctor/findings.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools::doctor {
namespace {

// Returns "rank 0 has A; ranks 1-3 have B"; empty if all ranks have the same value.
std::string unlike(const std::vector<RankFacts>& ranks, std::string RankFacts::*what) {
    std::map<std::string, std::vector<int>> having;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        having[ranks[rank].*what].push_back(static_cast<int>(rank));
    if (having.size() == 1) return {};
    std::string text;
    for (const auto& [value, who] : having)
        text += fmt::format("{}{} {} {} {}", text.empty() ? "" : "; ", who.size() == 1 ? "rank" : "ranks",
                            number_list(who), who.size() == 1 ? "has" : "have", value);
    return text;
}

Finding program_finding(const Facts& facts) {
    const std::string differs = unlike(facts.ranks, &RankFacts::program);
    if (!differs.empty())
        return {.name = "program",
                .status = Status::fails,
                .text = differs,
                .advice = "install one build for all nodes"};
    return {.name = "program",
            .status = Status::ok,
            .text = fmt::format("{}; {}; {}", facts.ranks.front().program, facts.compiler, facts.matrices)};
}

std::string words_of(const Start& start) {
    switch (start.launcher) {
        case Launcher::none:
            return "not started by mpirun or srun";
        case Launcher::srun:
            return start.has_pmix  ? "started by srun, through PMIx"
                   : start.has_pmi ? "started by srun, through PMI"
                                   : "started by srun";
        case Launcher::mpirun_of_open_mpi:
            return "started by Open MPI's mpirun";
        case Launcher::mpiexec_of_mpich:
            return "started by MPICH's mpiexec";
    }
    return {};
}

// Returns advice for processes that MPI has not connected.
std::string way_to_meet(const Start& start, const std::string& library) {
    const bool is_open_mpi = library.starts_with("Open MPI");
    if (start.launcher == Launcher::srun && !start.has_pmix && !start.has_pmi)
        return "srun and MPI talk through PMIx: start with srun --mpi=pmix (srun --mpi=list says what there "
               "is)";
    if (start.launcher == Launcher::srun)
        return "this MPI library was built without what this srun speaks: try another of srun --mpi=list, or "
               "mpirun inside of sbatch";
    if (start.launcher == Launcher::mpirun_of_open_mpi && !is_open_mpi)
        return "this program is built with MPICH: start it with MPICH's mpiexec (Debian: mpiexec.mpich)";
    if (start.launcher == Launcher::mpiexec_of_mpich && is_open_mpi)
        return "this program is built with Open MPI: start it with Open MPI's mpirun (Debian: mpirun.openmpi)";
    return "start it with the mpirun of the library that it is built with";
}

Finding mpi_finding(const Facts& facts) {
    const std::string differs = unlike(facts.ranks, &RankFacts::library);
    if (!differs.empty())
        return {.name = "MPI",
                .status = Status::fails,
                .text = differs,
                .advice = "load one MPI library on all nodes, and build with that"};
    const std::string& library = facts.ranks.front().library;
    const std::string text = fmt::format("{}, {}", library, words_of(facts.start));
    const auto processes = static_cast<std::size_t>(facts.start.processes);
    if (facts.start.launcher == Launcher::none || processes == facts.ranks.size())
        return {.name = "MPI", .status = Status::ok, .text = text};
    return {.name = "MPI",
            .status = Status::fails,
            .text = fmt::format("{} as one of {} processes, and MPI knows of {}", text, processes,
                                counted(facts.ranks.size(), "rank")),
            .advice = way_to_meet(facts.start, library)};
}

Finding ranks_finding(const Facts& facts) {
    constexpr std::size_t most_named = 4;
    const auto nodes = ranks_of_nodes(facts.ranks);
    std::string text = fmt::format("{} on {}: ", facts.ranks.size(), counted(nodes.size(), "host"));
    std::size_t named = 0;
    for (const auto& [node, ranks] : nodes) {
        if (named == most_named) break;
        text += fmt::format("{}{} has {}", named == 0 ? "" : "; ",
                            facts.ranks[static_cast<std::size_t>(node)].host, number_list(ranks));
        named += 1;
    }
    if (nodes.size() > named) text += fmt::format("; and {} more", nodes.size() - named);
    return {.name = "ranks", .status = Status::ok, .text = text};
}

Finding job_finding(const Facts& facts) {
    if (facts.job.empty()) return {.name = "job", .status = Status::ok, .text = "none of Slurm's"};
    std::string text = fmt::format("{} of Slurm's", facts.job);
    if (facts.job_seconds_left) text += fmt::format(", {:.0f} minutes left", *facts.job_seconds_left / 60);
    const bool is_without_step = facts.start.launcher == Launcher::none;
    return {.name = "job",
            .status = Status::ok,
            .text = text,
            .advice = is_without_step ? "start it with srun or mpirun to use all that the job has" : ""};
}

}  // namespace

std::vector<Finding> start_findings(const Facts& facts) {
    return {program_finding(facts), mpi_finding(facts), ranks_finding(facts), job_finding(facts)};
}

}  // namespace trireme::tools::doctor
