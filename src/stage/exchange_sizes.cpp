// Predicts the memory of gradient exchanges.
#include <algorithm>

#include "stage/bucket_transfer.hpp"
#include "trireme/stage/gradient_exchange.hpp"

namespace trireme::stage {

namespace {

// Computes the sizes of the exchanges of `ranks`, bucket by bucket: see predict_exchange_sizes().
class ExchangeSizeCounter {
public:
    ExchangeSizeCounter(const GradientPlan& plan, const std::vector<int>& ranks,
                        const LocalParameters& parameters)
        : plan_(plan),
          ranks_(ranks),
          parameters_(parameters),
          sizes_(ranks.size()),
          transfer_bytes_(ranks.size()) {}

    std::vector<ExchangeSize> count_sizes() && {
        const HeldShards shards(plan_, ranks_.front(), parameters_.specs());
        for (const std::size_t bucket : shards.list_buckets()) add_bucket(bucket, shards);
        for (std::size_t i = 0; i < ranks_.size(); ++i)
            sizes_[i].bytes = std::min(max_transfers, shared_buckets_) * transfer_bytes_[i];
        return std::move(sizes_);
    }

private:
    // Adds the bucket with index `bucket` in the plan to the sizes of its holders.
    void add_bucket(std::size_t bucket, const HeldShards& shards) {
        const std::vector<int>& holders = plan_.buckets[bucket].holders;
        TransferSizes gradient_sizes(holders.size(), parameters_.gradients());
        TransferSizes value_sizes(holders.size(), parameters_.values());
        const std::vector<std::ptrdiff_t> positions = find_positions(holders);
        shards.for_each(bucket, [&](std::size_t owner, const optim::ParameterShard& shard) {
            gradient_sizes.add(owner, shard);
            value_sizes.add(owner, shard);
            if (positions[owner] >= 0)
                sizes_[static_cast<std::size_t>(positions[owner])].own_shards.push_back(shard.box.size());
        });
        if (holders.size() == 1) return;
        ++shared_buckets_;
        for (std::size_t holder = 0; holder < holders.size(); ++holder) {
            if (positions[holder] < 0) continue;
            std::size_t& bytes = transfer_bytes_[static_cast<std::size_t>(positions[holder])];
            bytes = std::max({bytes, gradient_sizes.bytes(holder), value_sizes.bytes(holder)});
        }
    }

    // Returns per holder its position in `ranks_`, or -1 if `ranks_` lacks the holder. Both lists are
    // ascending. Every rank of `ranks_` is a holder, because the ranks of `ranks_` hold equal slices.
    std::vector<std::ptrdiff_t> find_positions(const std::vector<int>& holders) const {
        std::vector<std::ptrdiff_t> positions(holders.size(), -1);
        auto next_rank = ranks_.begin();
        for (std::size_t h = 0; h < holders.size() && next_rank != ranks_.end(); ++h) {
            if (holders[h] == *next_rank) positions[h] = next_rank++ - ranks_.begin();
        }
        return positions;
    }

    const GradientPlan& plan_;
    const std::vector<int>& ranks_;
    const LocalParameters& parameters_;
    std::vector<ExchangeSize> sizes_;          // per rank of `ranks_`
    std::vector<std::size_t> transfer_bytes_;  // per rank of `ranks_`: max bytes of a transfer
    std::size_t shared_buckets_ = 0;           // number of buckets with several holders
};

}  // namespace

std::vector<ExchangeSize> predict_exchange_sizes(const GradientPlan& plan, const std::vector<int>& ranks,
                                                 const LocalParameters& parameters) {
    return ExchangeSizeCounter(plan, ranks, parameters).count_sizes();
}

}  // namespace trireme::stage
