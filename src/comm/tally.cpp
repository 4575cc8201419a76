#include "trireme/comm/tally.hpp"

#include <algorithm>

#include "comm/peers.hpp"

namespace trireme::comm {

double Gathered::sum(std::size_t field) const {
    double total = 0;
    for (std::size_t i = field; i < values_.size(); i += width_) total += values_[i];
    return total;
}

double Gathered::most(std::size_t field) const {
    double largest = values_[field];
    for (std::size_t i = field; i < values_.size(); i += width_) largest = std::max(largest, values_[i]);
    return largest;
}

std::vector<double> Gathered::of_ranks(std::size_t field) const {
    std::vector<double> all;
    for (std::size_t i = field; i < values_.size(); i += width_) all.push_back(values_[i]);
    return all;
}

void Tally::post(std::span<const double> own) {
    if (own.size() != width_) throw BugError(cat("a tally of ", width_, " numbers was given ", own.size()));
    Round& round = rounds_.emplace_back();
    round.values.resize(width_ * static_cast<std::size_t>(group_.size()));
    const auto of_rank = [&](int rank) {
        return device::Tensor{round.values.data() + width_ * static_cast<std::size_t>(rank), device::DType::f64,
                              1, width_, width_};
    };
    std::ranges::copy(own, round.values.begin() + static_cast<std::ptrdiff_t>(width_) * group_.rank());
    for_each_peer(group_,
                  [&](int peer) { round.tickets.push_back(group_.start_receive(of_rank(peer), peer)); });
    for_each_peer(group_,
                  [&](int peer) { round.tickets.push_back(group_.start_send(of_rank(group_.rank()), peer)); });
    ++posted_;
}

Gathered Tally::take() {
    if (rounds_.empty()) throw BugError("a round of a tally was taken before it was posted");
    group_.wait(rounds_.front().tickets);
    Gathered gathered(std::move(rounds_.front().values), width_);
    rounds_.pop_front();
    return gathered;
}

}  // namespace trireme::comm
