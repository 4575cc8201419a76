#include "trireme/rank/gpu_groups.hpp"

#include <algorithm>
#include <set>

#include "trireme/comm/gpu_messages.hpp"
#include "trireme/device/gpu_times.hpp"

namespace trireme::rank {
namespace {

int place_in(const std::vector<int>& pipe, int rank) {
    return static_cast<int>(std::ranges::lower_bound(pipe, rank) - pipe.begin());
}

// In teams of equal size each rank sends to its counterpart. Otherwise rows are redistributed among all ranks.
void add_pairs(const std::vector<int>& from, const std::vector<int>& to, const std::vector<int>& pipe,
               std::set<comm::RankPair>& pairs) {
    for (std::size_t a = 0; a < from.size(); ++a) {
        for (std::size_t b = 0; b < to.size(); ++b) {
            if (from.size() == to.size() && a != b) continue;
            pairs.insert({place_in(pipe, from[a]), place_in(pipe, to[b])});
        }
    }
}

void add_pairs(const schedule::PipelineShape& shape, const std::vector<layout::Team>& teams,
               const std::vector<int>& pipe, std::set<comm::RankPair>& pairs) {
    for (int stage = 1; stage < shape.stages(); ++stage) {
        for (int m = 0; m < shape.microbatches; ++m) {
            const int from = shape.executor_of(stage - 1, m);
            const int to = shape.executor_of(stage, m);
            const std::vector<int>& senders = teams[static_cast<std::size_t>(from)].ranks;
            if (from == to || !std::ranges::binary_search(pipe, senders.front())) continue;
            add_pairs(senders, teams[static_cast<std::size_t>(to)].ranks, pipe, pairs);
        }
    }
}

}  // namespace

GpuRoad gpu_road(const config::RunConfig& config, const comm::Session& session, comm::Communicator& control) {
    if (config.precision.device != config::DeviceKind::cuda || session.size() == 1) return {};
    const comm::NcclSearch nccl = comm::find_nccl();
    GpuRoad road{.messages = choose_gpu_messages(control, session.host(), device::gpu_in_use(), nccl)};
    if (road.messages.is_by_nccl) road.nccl = nccl.library;
    return road;
}

GroupWiring wiring_for(device::Stream& stream, const GpuRoad& road, Watchdog& watchdog) {
    GroupWiring wiring{.patience = watchdog.patience()};
    if (!stream.is_on_gpu()) return wiring;
    wiring.queue = &stream.gpu_times->queue();
    wiring.queue->have_patience(wiring.patience);
    wiring.postman = &watchdog.postman();
    wiring.nccl = road.nccl;
    return wiring;
}

void carry_tensors(std::unique_ptr<comm::Communicator>& group, const std::vector<int>& ranks,
                   std::vector<comm::RankPair> pairs, const comm::Session& session, const GroupWiring& wiring) {
    if (!group || ranks.size() == 1) return;
    if (!wiring.nccl) {
        group = staged_group(std::move(group), *wiring.queue, *wiring.postman, wiring.patience);
        return;
    }
    auto signals = session.group_of(ranks, group->name() + " signals", wiring.patience);
    group = comm::nccl_group({.library = wiring.nccl,
                              .ranks = std::move(group),
                              .signals = std::move(signals),
                              .pairs = std::move(pairs),
                              .queue = *wiring.queue,
                              .postman = *wiring.postman},
                             wiring.patience);
}

std::vector<comm::RankPair> pairs_between_stages(const plan::Plan& plan, const std::vector<int>& pipe) {
    std::set<comm::RankPair> pairs;
    for (const plan::ProvedPrograms* const programs : {&plan.training, &plan.evaluation})
        add_pairs(programs->shape, plan.teams, pipe, pairs);
    return {pairs.begin(), pairs.end()};
}

std::vector<comm::RankPair> the_other_way(std::vector<comm::RankPair> pairs) {
    for (auto& [from, to] : pairs) std::swap(from, to);
    std::ranges::sort(pairs);
    return pairs;
}

}  // namespace trireme::rank
