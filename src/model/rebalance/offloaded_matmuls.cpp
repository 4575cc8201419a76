#include "trireme/model/offloaded_matmuls.hpp"

#include <algorithm>
#include <numeric>

#include "trireme/model/channel_choice.hpp"

namespace trireme::model {
namespace {

// Returns the migrations from rank `owner` that offload a fraction of `matmul`, in the order of `all`.
std::vector<layout::Migration> list_migrations_of_owner(const std::vector<layout::Migration>& all, int owner,
                                                        layout::Matmul matmul) {
    std::vector<layout::Migration> selected;
    for (const layout::Migration& each : all) {
        if (each.from == owner && each.fraction(matmul) > 0) selected.push_back(each);
    }
    return selected;
}

// Returns, per migration, the number of channels of the projection that the migration offloads. All migrations
// have the same owner.
std::vector<std::size_t> count_channels_per_helper(const std::vector<layout::Migration>& migrations,
                                                   const ProjectionShape& projection) {
    std::vector<double> fractions;
    for (const layout::Migration& each : migrations) fractions.push_back(each.fraction(projection.id.matmul));
    return count_offloaded_channels(projection.channels, fractions);
}

// Returns the broadcast tree of the owner and the helpers that compute at least one channel. `counts` has the
// number of offloaded channels per migration.
layout::BroadcastTree make_tree(int owner, const std::vector<layout::Migration>& migrations,
                                const std::vector<std::size_t>& counts, layout::Spread spread) {
    layout::BroadcastTree tree{.ranks = {owner}, .spread = spread};
    for (std::size_t m = 0; m < migrations.size(); ++m) {
        if (counts[m] > 0) tree.ranks.push_back(migrations[m].to);
    }
    return tree;
}

using ChannelList = std::vector<std::int32_t>;

// Returns one message per peer: the concatenation of the channel lists that are sent to the peer or received
// from it. `lists` has pairs of a peer and a pointer to a list. Owner and helper both order the lists by
// projection. A list to be received has placeholder values, so only its length matters.
template <class Lists>
std::map<int, ChannelList> make_messages(const Lists& lists) {
    std::map<int, ChannelList> messages;
    for (const auto& [peer, channels] : lists) {
        ChannelList& message = messages[peer];
        message.insert(message.end(), channels->begin(), channels->end());
    }
    return messages;
}

device::Tensor view_as_tensor(ChannelList& channels) {
    return {channels.data(), device::DType::i32, 1, channels.size(), channels.size()};
}

}  // namespace

OffloadedMatmuls::OffloadedMatmuls(std::vector<std::vector<ProjectionShape>> projections, int rank,
                                   layout::Spread spread)
    : projections_(std::move(projections)), rank_(rank), spread_(spread) {}

std::size_t OffloadedMatmuls::count_offloaded_channels(const std::vector<layout::Migration>& migrations,
                                                       const ProjectionShape& projection) const {
    const auto counts = count_channels_per_helper(
        list_migrations_of_owner(migrations, rank_, projection.id.matmul), projection);
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

Resizing::ChannelLists OffloadedMatmuls::begin_period(const std::vector<layout::Migration>& migrations,
                                                      const Resizing::ChannelLists& kept) {
    matmuls_.clear();
    Resizing::ChannelLists own_channels = kept;
    for (std::size_t rank = 0; rank < projections_.size(); ++rank) {
        for (const ProjectionShape& projection : projections_[rank]) {
            if (static_cast<int>(rank) == rank_) {
                offload_channels(migrations, projection, own_channels.at(projection.id));
            } else {
                add_helper_task(migrations, static_cast<int>(rank), projection);
            }
        }
    }
    return own_channels;
}

// Assigns the last channels of `kept` to the helpers of this rank, and removes them from `kept`.
void OffloadedMatmuls::offload_channels(const std::vector<layout::Migration>& migrations,
                                        const ProjectionShape& projection, std::vector<std::int32_t>& kept) {
    const auto own_migrations = list_migrations_of_owner(migrations, rank_, projection.id.matmul);
    const std::vector<std::size_t> counts = count_channels_per_helper(own_migrations, projection);
    const auto total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    if (total == 0) return;
    if (total >= kept.size())
        throw BugError(
            cat("cannot offload ", total, " of ", kept.size(), " kept channels; at least one must stay"));
    OffloadedMatmul& matmul = matmuls_[projection.id];
    auto begin = kept.end() - static_cast<std::ptrdiff_t>(total);
    for (std::size_t m = 0; m < own_migrations.size(); ++m) {
        const auto end = begin + static_cast<std::ptrdiff_t>(counts[m]);
        if (counts[m] > 0) matmul.offloaded.push_back({own_migrations[m].to, {.channels = {begin, end}}});
        begin = end;
    }
    matmul.trees.emplace(rank_, make_tree(rank_, own_migrations, counts, spread_));
    kept.resize(kept.size() - total);
}

// The channel list of a new helper task has the final length, but placeholder values. send_channel_lists()
// replaces these values by the channels that the owner has offloaded.
void OffloadedMatmuls::add_helper_task(const std::vector<layout::Migration>& migrations, int owner,
                                       const ProjectionShape& projection) {
    const auto owner_migrations = list_migrations_of_owner(migrations, owner, projection.id.matmul);
    const std::vector<std::size_t> counts = count_channels_per_helper(owner_migrations, projection);
    for (std::size_t m = 0; m < owner_migrations.size(); ++m) {
        if (owner_migrations[m].to != rank_ || counts[m] == 0) continue;
        HelperTask task{.owner = owner, .shape = projection};
        task.channels.channels.resize(counts[m]);
        std::iota(task.channels.channels.begin(), task.channels.channels.end(), 0);
        OffloadedMatmul& matmul = matmuls_[projection.id];
        matmul.helper_tasks.push_back(std::move(task));
        matmul.trees.emplace(owner, make_tree(owner, owner_migrations, counts, spread_));
    }
}

void OffloadedMatmuls::send_channel_lists(comm::Communicator& team) {
    std::vector<std::pair<int, const ChannelList*>> sent_lists;  // (helper, offloaded channels)
    std::vector<std::pair<int, ChannelList*>> received_lists;    // (owner, channels of a helper task)
    for (auto& [id, matmul] : matmuls_) {
        for (const OffloadedChannels& each : matmul.offloaded)
            sent_lists.emplace_back(each.helper, &each.channels.channels);
        for (HelperTask& each : matmul.helper_tasks)
            received_lists.emplace_back(each.owner, &each.channels.channels);
    }
    auto sent_messages = make_messages(sent_lists);
    auto received_messages = make_messages(received_lists);
    std::vector<comm::Communicator::RequestId> requests;
    for (auto& [peer, message] : received_messages)
        requests.push_back(team.start_receive(view_as_tensor(message), peer));
    for (auto& [peer, message] : sent_messages)
        requests.push_back(team.start_send(view_as_tensor(message), peer));
    team.wait(requests);
    std::map<int, std::size_t> unpacked_counts;  // unpacked channels per owner
    for (auto& [owner, channels] : received_lists) {
        const auto begin =
            received_messages.at(owner).begin() + static_cast<std::ptrdiff_t>(unpacked_counts[owner]);
        std::copy_n(begin, channels->size(), channels->begin());
        unpacked_counts[owner] += channels->size();
    }
}

const OffloadedMatmul* OffloadedMatmuls::at(const ProjectionId& id) const {
    const auto matmul = matmuls_.find(id);
    return matmul == matmuls_.end() ? nullptr : &matmul->second;
}

}  // namespace trireme::model
