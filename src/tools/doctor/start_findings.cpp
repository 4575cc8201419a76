#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "tools/doctor/findings.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::tools::doctor {
namespace {

// Returns, for example, "rank 0 has A; ranks 1-3 have B", if A and B are the values of `member`. Returns an
// empty text if all ranks have the same value.
std::string describe_differences(const std::vector<RankFacts>& ranks, std::string RankFacts::*member) {
    std::map<std::string, std::vector<int>> ranks_by_value;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        ranks_by_value[ranks[rank].*member].push_back(static_cast<int>(rank));
    if (ranks_by_value.size() == 1) return {};
    std::string text;
    for (const auto& [value, ranks_with_value] : ranks_by_value)
        text += fmt::format("{}{} {} {} {}", text.empty() ? "" : "; ",
                            ranks_with_value.size() == 1 ? "rank" : "ranks", format_ranges(ranks_with_value),
                            ranks_with_value.size() == 1 ? "has" : "have", value);
    return text;
}

Finding judge_program(const Facts& facts) {
    const std::string differences = describe_differences(facts.ranks, &RankFacts::program);
    if (!differences.empty())
        return {.name = "program",
                .status = Status::fails,
                .text = differences,
                .advice = "install the same build on all nodes"};
    return {
        .name = "program",
        .status = Status::ok,
        .text = fmt::format("{}; {}; {}", facts.ranks.front().program, facts.compiler, facts.matmul_library)};
}

std::string describe(const ProcessStart& start) {
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

// Returns advice for processes that MPI has not connected. `library` names the MPI library of this program.
std::string suggest_launcher(const ProcessStart& start, const std::string& library) {
    const bool uses_open_mpi = library.starts_with("Open MPI");
    if (start.launcher == Launcher::srun && !start.has_pmix && !start.has_pmi)
        return "srun and MPI communicate through PMIx: start with srun --mpi=pmix (srun --mpi=list prints "
               "the available types)";
    if (start.launcher == Launcher::srun)
        return "this MPI library was built without support for the --mpi type that srun used: choose another "
               "type from srun --mpi=list, or use mpirun in an sbatch job";
    if (start.launcher == Launcher::mpirun_of_open_mpi && !uses_open_mpi)
        return "this program is built with MPICH: start it with MPICH's mpiexec (Debian: mpiexec.mpich)";
    if (start.launcher == Launcher::mpiexec_of_mpich && uses_open_mpi)
        return "this program is built with Open MPI: start it with Open MPI's mpirun (Debian: mpirun.openmpi)";
    return "start this program with the mpirun of the MPI installation that it was built with";
}

Finding judge_mpi(const Facts& facts) {
    const std::string differences = describe_differences(facts.ranks, &RankFacts::mpi_library);
    if (!differences.empty())
        return {.name = "MPI",
                .status = Status::fails,
                .text = differences,
                .advice = "load the same MPI library on all nodes, and build Trireme with it"};
    const std::string& library = facts.ranks.front().mpi_library;
    const std::string text = fmt::format("{}, {}", library, describe(facts.start));
    const auto process_count = static_cast<std::size_t>(facts.start.process_count);
    if (facts.start.launcher == Launcher::none || process_count == facts.ranks.size())
        return {.name = "MPI", .status = Status::ok, .text = text};
    return {.name = "MPI",
            .status = Status::fails,
            .text = fmt::format("{}; the launcher started {} processes, but MPI reports {}", text,
                                process_count, format_count(facts.ranks.size(), "rank")),
            .advice = suggest_launcher(facts.start, library)};
}

Finding judge_ranks(const Facts& facts) {
    constexpr std::size_t max_listed_nodes = 4;
    const auto nodes = group_ranks_by_node(facts.ranks);
    std::string text = fmt::format("{} on {}: ", facts.ranks.size(), format_count(nodes.size(), "host"));
    std::size_t listed_nodes = 0;
    for (const auto& [first_rank, ranks] : nodes) {
        if (listed_nodes == max_listed_nodes) break;
        text += fmt::format("{}{} has {}", listed_nodes == 0 ? "" : "; ",
                            facts.ranks[static_cast<std::size_t>(first_rank)].host, format_ranges(ranks));
        listed_nodes += 1;
    }
    if (nodes.size() > listed_nodes)
        text += fmt::format("; and {}", format_count(nodes.size() - listed_nodes, "more host"));
    return {.name = "ranks", .status = Status::ok, .text = text};
}

Finding judge_job(const Facts& facts) {
    if (facts.job.empty()) return {.name = "job", .status = Status::ok, .text = "no Slurm job"};
    std::string text = fmt::format("Slurm job {}", facts.job);
    if (facts.job_seconds_left) {
        const auto minutes = static_cast<std::uint64_t>(std::llround(*facts.job_seconds_left / 60));
        text += fmt::format(", {} left", format_count(minutes, "minute"));
    }
    const bool has_no_launcher = facts.start.launcher == Launcher::none;
    return {
        .name = "job",
        .status = Status::ok,
        .text = text,
        .advice = has_no_launcher ? "start with srun or mpirun: without a launcher, only one rank runs" : ""};
}

}  // namespace

std::vector<Finding> judge_start(const Facts& facts) {
    return {judge_program(facts), judge_mpi(facts), judge_ranks(facts), judge_job(facts)};
}

}  // namespace trireme::tools::doctor
