#include "trireme/rank/gpu_groups.hpp"

#include <algorithm>
#include <set>

#include "trireme/comm/transport_choice.hpp"
#include "trireme/device/gpu_times.hpp"

namespace trireme::rank {
namespace {

int find_index(const std::vector<int>& pipe, int rank) {
    return static_cast<int>(std::ranges::lower_bound(pipe, rank) - pipe.begin());
}

// Adds the pairs (sender, receiver) for the activations that one team sends to another. A pair has the indices
// of its two ranks in `pipe`, which is sorted. Between teams of equal size, each rank sends to the rank with
// the same index in the receiving team. Otherwise every sender may send rows to every receiver.
void add_team_pairs(const std::vector<int>& senders, const std::vector<int>& receivers,
                    const std::vector<int>& pipe, std::set<comm::RankPair>& pairs) {
    for (std::size_t s = 0; s < senders.size(); ++s) {
        for (std::size_t r = 0; r < receivers.size(); ++r) {
            if (senders.size() == receivers.size() && s != r) continue;
            pairs.insert({find_index(pipe, senders[s]), find_index(pipe, receivers[r])});
        }
    }
}

// Adds the pairs of ranks of `pipe` that exchange activations in the programs of shape `shape`.
void add_pipe_pairs(const schedule::PipelineShape& shape, const std::vector<layout::Team>& teams,
                    const std::vector<int>& pipe, std::set<comm::RankPair>& pairs) {
    for (int stage = 1; stage < shape.stages(); ++stage) {
        for (int m = 0; m < shape.microbatches; ++m) {
            const int sending_team = shape.find_executor(stage - 1, m);
            const int receiving_team = shape.find_executor(stage, m);
            const std::vector<int>& senders = teams[static_cast<std::size_t>(sending_team)].ranks;
            const bool is_in_pipe = std::ranges::binary_search(pipe, senders.front());
            if (sending_team == receiving_team || !is_in_pipe) continue;
            add_team_pairs(senders, teams[static_cast<std::size_t>(receiving_team)].ranks, pipe, pairs);
        }
    }
}

}  // namespace

GpuTransport choose_gpu_transport(const config::RunConfig& config, const comm::Session& session,
                                  comm::Communicator& control) {
    if (config.precision.device != config::DeviceKind::cuda || session.size() == 1) return {};
    const comm::NcclSearch nccl = comm::find_nccl();
    GpuTransport transport{.choice =
                               comm::choose_transport(control, session.host(), device::selected_gpu(), nccl)};
    if (transport.choice.uses_nccl) transport.nccl = nccl.library;
    return transport;
}

GroupResources make_group_resources(device::Stream& stream, const GpuTransport& transport, Watchdog& watchdog) {
    GroupResources resources{.wait_policy = watchdog.wait_policy()};
    if (!stream.is_on_gpu()) return resources;
    resources.queue = &stream.gpu_times->queue();
    resources.queue->set_wait_policy(resources.wait_policy);
    resources.progress_engine = &watchdog.progress_engine();
    resources.nccl = transport.nccl;
    return resources;
}

void extend_to_gpu(std::unique_ptr<comm::Communicator>& group, const std::vector<int>& ranks,
                   std::vector<comm::RankPair> pairs, const comm::Session& session,
                   const GroupResources& resources) {
    if (!group || ranks.size() == 1) return;
    if (!resources.nccl) {
        group = make_staged_group(std::move(group), *resources.queue, *resources.progress_engine,
                                  resources.wait_policy);
        return;
    }
    auto signals = session.make_group(ranks, group->name() + " signals", resources.wait_policy);
    group = comm::make_nccl_group({.library = resources.nccl,
                                   .ranks = std::move(group),
                                   .signals = std::move(signals),
                                   .pairs = std::move(pairs),
                                   .queue = *resources.queue,
                                   .progress_engine = *resources.progress_engine},
                                  resources.wait_policy);
}

std::vector<comm::RankPair> find_stage_pairs(const plan::Plan& plan, const std::vector<int>& pipe) {
    std::set<comm::RankPair> pairs;
    for (const plan::ProvedPrograms* const programs : {&plan.training, &plan.evaluation})
        add_pipe_pairs(programs->shape, plan.teams, pipe, pairs);
    return {pairs.begin(), pairs.end()};
}

std::vector<comm::RankPair> reverse_pairs(std::vector<comm::RankPair> pairs) {
    for (auto& [sender, receiver] : pairs) std::swap(sender, receiver);
    std::ranges::sort(pairs);
    return pairs;
}

}  // namespace trireme::rank
