#include "trireme/model/helped_products.hpp"

#include <algorithm>
#include <numeric>

#include "trireme/model/channel_choice.hpp"

namespace trireme::model {
namespace {

// Returns the migrations that offload matmuls of this kind from rank `owner`, in order.
std::vector<layout::Migration> of_owner(const std::vector<layout::Migration>& all, int owner,
                                        layout::Product product) {
    std::vector<layout::Migration> own;
    for (const layout::Migration& each : all) {
        if (each.from == owner && each.part(product) > 0) own.push_back(each);
    }
    return own;
}

std::vector<std::size_t> counts_of(const std::vector<layout::Migration>& migrations,
                                   const ProjectionShape& projection) {
    std::vector<double> parts;
    for (const layout::Migration& each : migrations) parts.push_back(each.part(projection.place.product));
    return lent_counts(projection.channels, parts);
}

// Returns the broadcast tree of the owner and of the helpers that get at least one channel.
layout::Circle circle_of(int owner, const std::vector<layout::Migration>& migrations,
                         const std::vector<std::size_t>& counts, layout::Spread spread) {
    layout::Circle circle{.ranks = {owner}, .spread = spread};
    for (std::size_t m = 0; m < migrations.size(); ++m) {
        if (counts[m] > 0) circle.ranks.push_back(migrations[m].to);
    }
    return circle;
}

using ChannelList = std::vector<std::int32_t>;

// Returns one message per peer: the concatenated channel lists that are sent to it or received from it. All
// ranks have the same order of places, so owner and helper order the lists equally.
template <class Lists>
std::map<int, ChannelList> messages_of(const Lists& lists) {
    std::map<int, ChannelList> messages;
    for (const auto& [peer, channels] : lists) {
        ChannelList& message = messages[peer];
        message.insert(message.end(), channels->begin(), channels->end());
    }
    return messages;
}

device::Tensor tensor_of(ChannelList& channels) {
    return {channels.data(), device::DType::i32, 1, channels.size(), channels.size()};
}

}  // namespace

HelpedProducts::HelpedProducts(std::vector<std::vector<ProjectionShape>> projections, int rank,
                               layout::Spread spread)
    : projections_(std::move(projections)), rank_(rank), spread_(spread) {}

std::size_t HelpedProducts::lent_count(const std::vector<layout::Migration>& migrations,
                                       const ProjectionShape& projection) const {
    const auto counts = counts_of(of_owner(migrations, rank_, projection.place.product), projection);
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

Resizing::Lists HelpedProducts::begin(const std::vector<layout::Migration>& migrations,
                                      const Resizing::Lists& kept) {
    products_.clear();
    Resizing::Lists own = kept;
    for (std::size_t rank = 0; rank < projections_.size(); ++rank) {
        for (const ProjectionShape& projection : projections_[rank]) {
            if (static_cast<int>(rank) == rank_) {
                lend(migrations, projection, own.at(projection.place));
            } else {
                take_in(migrations, static_cast<int>(rank), projection);
            }
        }
    }
    return own;
}

// Offloads the last channels of `kept`.
void HelpedProducts::lend(const std::vector<layout::Migration>& migrations, const ProjectionShape& projection,
                          std::vector<std::int32_t>& kept) {
    const auto own = of_owner(migrations, rank_, projection.place.product);
    const std::vector<std::size_t> counts = counts_of(own, projection);
    const auto all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    if (all == 0) return;
    if (all >= kept.size()) throw BugError(cat(all, " channels are lent of ", kept.size(), " that are kept"));
    HelpedProduct& product = products_[projection.place];
    auto next = kept.end() - static_cast<std::ptrdiff_t>(all);
    for (std::size_t m = 0; m < own.size(); ++m) {
        const auto end = next + static_cast<std::ptrdiff_t>(counts[m]);
        if (counts[m] > 0) product.lent.push_back({own[m].to, {.channels = {next, end}}});
        next = end;
    }
    product.circles.emplace(rank_, circle_of(rank_, own, counts, spread_));
    kept.resize(kept.size() - all);
}

// Only the counts are known here; tell() delivers the owner's channel numbers.
void HelpedProducts::take_in(const std::vector<layout::Migration>& migrations, int owner,
                             const ProjectionShape& projection) {
    const auto own = of_owner(migrations, owner, projection.place.product);
    const std::vector<std::size_t> counts = counts_of(own, projection);
    for (std::size_t m = 0; m < own.size(); ++m) {
        if (own[m].to != rank_ || counts[m] == 0) continue;
        GuestChannels guest{.owner = owner, .shape = projection};
        guest.channels.channels.resize(counts[m]);
        std::iota(guest.channels.channels.begin(), guest.channels.channels.end(), 0);
        HelpedProduct& product = products_[projection.place];
        product.guests.push_back(std::move(guest));
        product.circles.emplace(owner, circle_of(owner, own, counts, spread_));
    }
}

void HelpedProducts::tell(comm::Communicator& team) {
    std::vector<std::pair<int, const ChannelList*>> lent;
    std::vector<std::pair<int, ChannelList*>> guests;
    for (auto& [place, product] : products_) {
        for (const LentChannels& each : product.lent) lent.emplace_back(each.helper, &each.channels.channels);
        for (GuestChannels& each : product.guests) guests.emplace_back(each.owner, &each.channels.channels);
    }
    auto sent = messages_of(lent);
    auto received = messages_of(guests);
    std::vector<comm::Communicator::Ticket> tickets;
    for (auto& [peer, message] : received) tickets.push_back(team.start_receive(tensor_of(message), peer));
    for (auto& [peer, message] : sent) tickets.push_back(team.start_send(tensor_of(message), peer));
    team.wait(tickets);
    std::map<int, std::size_t> read;
    for (auto& [owner, channels] : guests) {
        const auto begin = received.at(owner).begin() + static_cast<std::ptrdiff_t>(read[owner]);
        std::copy_n(begin, channels->size(), channels->begin());
        read[owner] += channels->size();
    }
}

const HelpedProduct* HelpedProducts::at(const ProjectionPlace& place) const {
    const auto product = products_.find(place);
    return product == products_.end() ? nullptr : &product->second;
}

}  // namespace trireme::model
