#include "trireme/tools/doctor.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "tools/doctor/findings.hpp"
#include "tools/doctor/probes.hpp"
#include "trireme/base/version.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/kernels/peak.hpp"

namespace trireme::tools {
namespace {

using namespace doctor;

// Stall limit of ranks that wait while other ranks test a slow disk or exchange messages.
constexpr double long_stall_seconds = 600;

// Collective over `all`. Every rank returns the facts of all ranks. The ranks measure their FLOP/s at the
// same time, because in a run they compute at the same time.
std::vector<RankFacts> gather_facts(const DoctorConfig& config, const DoctorInputs& inputs,
                                    comm::Communicator& all) {
    RankFacts rank_facts = gather_own_facts(inputs);
    barrier(all);
    rank_facts.flops = kernels::measure_peak_flops(device::DType::f32, inputs.threads);
    barrier(all);
    // A node has the number of its first rank, so only the first rank of each node tests the folder.
    if (inputs.session.node() == inputs.session.rank()) rank_facts.scratch = measure_scratch(config.scratch);
    std::vector<RankFacts> ranks;
    for (const std::string& text : all_gather(all, to_json(rank_facts)))
        ranks.push_back(parse_rank_facts(text));
    return ranks;
}

// Collective over all ranks. Each rank returns the results of its own pairs. Rank 0 is in every pair, so it
// returns all results. The pairs are measured one after the other. All ranks except rank 0 have a longer stall
// limit, because they wait until their pair is measured.
std::vector<PairFacts> measure_pairs(const comm::Session& session) {
    const auto group = session.make_group_of_all_ranks("doctor's messages", {});
    if (session.rank() != 0) group->set_stall_seconds(long_stall_seconds);
    std::vector<PairFacts> pair_facts;
    for (const auto& pair : list_pairs(session.nodes())) {
        if (session.rank() != pair.first && session.rank() != pair.second) continue;
        pair_facts.push_back(measure_pair(*group, pair));
    }
    return pair_facts;
}

Facts make_facts(const DoctorConfig& config, const DoctorInputs& inputs, std::vector<RankFacts> ranks,
                 std::vector<PairFacts> pairs) {
    const BuildFacts build = make_build_facts();
    const std::string program_folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
    Facts facts{.compiler = build.compiler,
                .hdf5 = build.hdf5,
                .matmul_library = build.matmul_library,
                .has_cuda = build.has_cuda,
                .scratch = config.scratch,
                .start = inputs.start,
                .job = inputs.job.id,
                .ranks = std::move(ranks),
                .pairs = std::move(pairs),
                .optional_software = find_optional_software(inputs.search_path, program_folder,
                                                            build.matmul_library, inputs.session.library())};
    if (const auto left = compute_seconds_left(inputs.job)) facts.job_seconds_left = std::max(0.0, *left);
    return facts;
}

// If MPI has not connected the processes, each process believes that it is the only rank. Then only the first
// process reports, and this function returns true on the other processes. The other processes exit with
// success, because a launcher stops all processes if one fails.
bool prints_nothing(const DoctorInputs& inputs) {
    return inputs.session.size() == 1 && inputs.start.process_index > 0;
}

}  // namespace

ExitCode run_doctor(const DoctorConfig& config, const DoctorInputs& inputs, std::ostream& out) {
    if (device::time_is_simulated())
        throw ConfigError("doctor checks a real machine, but trireme-sim simulates one; use trireme doctor");
    if (prints_nothing(inputs)) return ExitCode::done;
    const auto all = inputs.session.make_group_of_all_ranks("doctor", {.stall_seconds = long_stall_seconds});
    std::vector<RankFacts> ranks = gather_facts(config, inputs, *all);
    std::vector<PairFacts> pairs = measure_pairs(inputs.session);
    double success = 0;  // set on rank 0: 1 if everything works
    if (inputs.session.rank() == 0) {
        const Facts facts = make_facts(config, inputs, std::move(ranks), std::move(pairs));
        const std::vector<Finding> findings = judge_facts(facts);
        success = is_everything_working(findings) ? 1 : 0;
        out << (config.is_json ? to_json(facts, findings) : to_string(findings)) << std::flush;
    }
    return all_gather(*all, std::array{success}).front() > 0 ? ExitCode::done : ExitCode::resource;
}

}  // namespace trireme::tools
