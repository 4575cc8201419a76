#include "trireme/comm/step_gather.hpp"

#include <algorithm>

#include "comm/peers.hpp"

namespace trireme::comm {

double GatheredNumbers::sum(std::size_t field) const {
    double total = 0;
    for (std::size_t i = field; i < values_.size(); i += width_) total += values_[i];
    return total;
}

double GatheredNumbers::max(std::size_t field) const {
    double largest = values_[field];
    for (std::size_t i = field; i < values_.size(); i += width_) largest = std::max(largest, values_[i]);
    return largest;
}

std::vector<double> GatheredNumbers::list_per_rank(std::size_t field) const {
    std::vector<double> all;
    for (std::size_t i = field; i < values_.size(); i += width_) all.push_back(values_[i]);
    return all;
}

void StepGather::post(std::span<const double> own_numbers) {
    if (own_numbers.size() != width_)
        throw BugError(cat("a gather needs ", width_, " numbers per rank, but was given ", own_numbers.size()));
    Gather& gather = pending_gathers_.emplace_back();
    gather.values.resize(width_ * static_cast<std::size_t>(group_.size()));
    const auto view_of_rank = [&](int rank) {
        return device::Tensor{gather.values.data() + width_ * static_cast<std::size_t>(rank),
                              device::DType::f64, 1, width_, width_};
    };
    std::ranges::copy(own_numbers, gather.values.begin() + static_cast<std::ptrdiff_t>(width_) * group_.rank());
    for_each_peer(group_,
                  [&](int peer) { gather.ids.push_back(group_.start_receive(view_of_rank(peer), peer)); });
    for_each_peer(
        group_, [&](int peer) { gather.ids.push_back(group_.start_send(view_of_rank(group_.rank()), peer)); });
    ++posted_gathers_;
}

GatheredNumbers StepGather::take() {
    if (pending_gathers_.empty())
        throw BugError("the result of a gather was taken before the gather was posted");
    group_.wait(pending_gathers_.front().ids);
    GatheredNumbers gathered(std::move(pending_gathers_.front().values), width_);
    pending_gathers_.pop_front();
    return gathered;
}

}  // namespace trireme::comm
