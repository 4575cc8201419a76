// Predicts the memory of gradient exchanges.
#include <algorithm>

#include "stage/bucket_transfer.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::stage {

namespace {

class Counting {
public:
    Counting(const GradientPlan& plan, const std::vector<int>& ranks, const LocalParameters& held)
        : plan_(plan), ranks_(ranks), held_(held), sizes_(ranks.size()), slot_bytes_(ranks.size()) {}

    std::vector<ExchangeSize> sizes() && {
        const HeldShards shards(plan_, ranks_.front(), held_.specs());
        for (const std::size_t bucket : shards.buckets()) add(bucket, shards);
        for (std::size_t i = 0; i < ranks_.size(); ++i)
            sizes_[i].bytes = std::min(most_in_flight, shared_) * slot_bytes_[i];
        return std::move(sizes_);
    }

private:
    void add(std::size_t bucket, const HeldShards& shards) {
        const std::vector<int>& holders = plan_.buckets[bucket].holders;
        TransferSizes of_gradients(holders.size(), held_.gradients());
        TransferSizes of_values(holders.size(), held_.values());
        const std::vector<std::ptrdiff_t> places = places_of(holders);
        shards.for_each(bucket, [&](std::size_t owner, const optim::ParameterShard& shard) {
            of_gradients.add(owner, shard);
            of_values.add(owner, shard);
            if (places[owner] >= 0)
                sizes_[static_cast<std::size_t>(places[owner])].own_shards.push_back(shard.box.size());
        });
        if (holders.size() == 1) return;
        ++shared_;
        for (std::size_t holder = 0; holder < holders.size(); ++holder) {
            if (places[holder] < 0) continue;
            std::size_t& bytes = slot_bytes_[static_cast<std::size_t>(places[holder])];
            bytes = std::max({bytes, of_gradients.bytes(holder), of_values.bytes(holder)});
        }
    }

    // Returns the position of each holder among ranks_, or -1. Both lists are ascending.
    std::vector<std::ptrdiff_t> places_of(const std::vector<int>& holders) const {
        std::vector<std::ptrdiff_t> places(holders.size(), -1);
        auto next = ranks_.begin();
        for (std::size_t h = 0; h < holders.size() && next != ranks_.end(); ++h) {
            if (holders[h] == *next) places[h] = next++ - ranks_.begin();
        }
        return places;
    }

    const GradientPlan& plan_;
    const std::vector<int>& ranks_;
    const LocalParameters& held_;
    std::vector<ExchangeSize> sizes_;
    std::vector<std::size_t> slot_bytes_;
    std::size_t shared_ = 0;  // number of buckets with several holders
};

}  // namespace

std::vector<ExchangeSize> exchange_sizes(const GradientPlan& plan, const std::vector<int>& ranks,
                                         const LocalParameters& held) {
    return Counting(plan, ranks, held).sizes();
}

}  // namespace trireme::stage
