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

constexpr double ten_minutes = 600;  // patience of ranks that wait while others test a slow disk

// Collective over `all`. Returns the facts of all ranks on every rank. They compute at the
// same time, as in a run.
std::vector<RankFacts> facts_of_ranks(const DoctorConfig& config, const DoctorPlace& place,
                                      comm::Communicator& all) {
    RankFacts own = own_facts(place);
    barrier(all);
    own.flops = kernels::measure_peak_flops(device::DType::f32, place.threads);
    barrier(all);
    if (place.session.node() == place.session.rank()) own.scratch = measure_scratch(config.scratch);
    std::vector<RankFacts> ranks;
    for (const std::string& text : gather_all(all, json_of(own))) ranks.push_back(rank_of_json(text));
    return ranks;
}

// Collective over all ranks. Rank 0 is in every pair and gets all results. It alone gives up early on a
// message; the other ranks wait longer, for their turn.
std::vector<PairFacts> measure_pairs(const comm::Session& session) {
    const auto group = session.all_ranks("doctor's messages", {});
    if (session.rank() != 0) group->give_up_after(ten_minutes);
    std::vector<PairFacts> found;
    for (const auto& pair : pairs_of(session.nodes())) {
        if (session.rank() != pair.first && session.rank() != pair.second) continue;
        found.push_back(measure_pair(*group, pair));
    }
    return found;
}

Facts facts_about(const DoctorConfig& config, const DoctorPlace& place, std::vector<RankFacts> ranks,
                  std::vector<PairFacts> pairs) {
    const BuildFacts build = build_facts();
    const std::string own_folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
    Facts facts{
        .compiler = build.compiler,
        .hdf5 = build.hdf5,
        .matrices = build.matrices,
        .has_cuda = build.has_cuda,
        .scratch = config.scratch,
        .start = place.start,
        .job = place.job.id,
        .ranks = std::move(ranks),
        .pairs = std::move(pairs),
        .parts = optional_parts(place.search_path, own_folder, build.matrices, place.session.library())};
    if (const auto left = seconds_left(place.job)) facts.job_seconds_left = std::max(0.0, *left);
    return facts;
}

// Without a connection between processes, each believes that it is the only rank, and only the first one
// reports. The others return success, because a launcher stops all processes if one fails.
bool is_silent(const DoctorPlace& place) { return place.session.size() == 1 && place.start.process > 0; }

}  // namespace

ExitCode examine(const DoctorConfig& config, const DoctorPlace& place, std::ostream& out) {
    if (device::time_is_simulated())
        throw ConfigError(
            "doctor looks at a real machine, and a simulated one is described in a file; use trireme doctor");
    if (is_silent(place)) return ExitCode::done;
    const auto all = place.session.all_ranks("doctor", {.stall_seconds = ten_minutes});
    std::vector<RankFacts> ranks = facts_of_ranks(config, place, *all);
    std::vector<PairFacts> pairs = measure_pairs(place.session);
    double works = 0;
    if (place.session.rank() == 0) {
        const Facts facts = facts_about(config, place, std::move(ranks), std::move(pairs));
        const std::vector<Finding> findings = findings_of(facts);
        works = do_all_work(findings) ? 1 : 0;
        out << (config.is_json ? json_of(facts, findings) : to_string(findings)) << std::flush;
    }
    return gather_all(*all, std::array{works}).front() > 0 ? ExitCode::done : ExitCode::resource;
}

}  // namespace trireme::tools
