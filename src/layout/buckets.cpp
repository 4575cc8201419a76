#include <algorithm>
#include <map>
#include <numeric>

#include "trireme/layout/pieces.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::layout {
namespace {

// A bucket before its rows are divided into shards.
struct UnshardedBucket {
    Bucket bucket;           // without shards
    std::vector<Box> boxes;  // per element of bucket.pieces: the part of the piece that is in this bucket

    void add(std::size_t piece_index, const Box& box, std::size_t last_use) {
        bucket.pieces.push_back(piece_index);
        boxes.push_back(box);
        bucket.elements += box.size();
        bucket.last_use = std::min(bucket.last_use, last_use);
    }
};

// Distributes pieces over buckets. `piece_index` is an index into the list of all pieces; `last_use` is
// HeldTensor::last_use of the piece's tensor.
class BucketFiller {
public:
    explicit BucketFiller(const BucketRules& rules) : rules_(rules) {}

    void add(std::size_t piece_index, const Piece& piece, std::size_t last_use) {
        const std::size_t size = piece.box.size();
        if (size >= rules_.large_piece_elements || size > rules_.max_bucket_elements) {
            add_to_own_buckets(piece_index, piece, last_use);
        } else {
            add_to_shared_bucket(piece_index, piece, last_use);
        }
    }

    std::vector<UnshardedBucket> take_sorted_by_last_use() && {
        std::ranges::stable_sort(buckets_, std::ranges::greater{},
                                 [](const UnshardedBucket& unsharded) { return unsharded.bucket.last_use; });
        return std::move(buckets_);
    }

private:
    UnshardedBucket& open_bucket(const Piece& piece, std::size_t last_use) {
        return buckets_.emplace_back(UnshardedBucket{{piece.holders, last_use, {}, {}, 0}, {}});
    }

    // Cuts a large piece by rows into buckets with at least one row each.
    void add_to_own_buckets(std::size_t piece_index, const Piece& piece, std::size_t last_use) {
        const std::size_t max_rows =
            std::max<std::size_t>(1, rules_.max_bucket_elements / piece.box.columns.count);
        const std::size_t bucket_count = (piece.box.rows.count + max_rows - 1) / max_rows;
        for (const Range& piece_rows : cut_evenly(piece.box.rows.count, bucket_count)) {
            const Range bucket_rows{piece.box.rows.begin + piece_rows.begin, piece_rows.count};
            open_bucket(piece, last_use).add(piece_index, {bucket_rows, piece.box.columns}, last_use);
        }
    }

    // Adds a small piece to the last bucket of its holders, or to a new bucket if the last bucket is full. A
    // bucket is full if it has at least `large_piece_elements` elements, because the reduction of a larger
    // bucket would start later without being more efficient. A bucket is also full if it would exceed
    // `max_bucket_elements` with the piece.
    void add_to_shared_bucket(std::size_t piece_index, const Piece& piece, std::size_t last_use) {
        const auto [entry, is_new] = last_shared_bucket_.try_emplace(piece.holders, buckets_.size());
        std::size_t& bucket_index = entry->second;
        if (!is_new && is_full(buckets_[bucket_index].bucket, piece)) bucket_index = buckets_.size();
        if (bucket_index == buckets_.size()) open_bucket(piece, last_use);
        buckets_[bucket_index].add(piece_index, piece.box, last_use);
    }

    bool is_full(const Bucket& bucket, const Piece& piece_to_add) const {
        return bucket.elements >= rules_.large_piece_elements ||
               bucket.elements + piece_to_add.box.size() > rules_.max_bucket_elements;
    }

    BucketRules rules_;
    std::vector<UnshardedBucket> buckets_;
    std::map<std::vector<int>, std::size_t>
        last_shared_bucket_;  // key: holders; value: index of their last bucket of small pieces
};

// A holder of a bucket; it may own shards of the bucket. Owners are compared by `elements`, then by `rank`.
struct Owner {
    std::size_t elements = 0;  // number of elements of the shards that the rank owns already
    int rank = 0;

    friend auto operator<=>(const Owner&, const Owner&) = default;
};

// Assigns shards to owners and counts the elements that each rank owns.
class OwnerAssignment {
public:
    explicit OwnerAssignment(const std::vector<Piece>& pieces) {
        int last_rank = 0;
        for (const Piece& piece : pieces) last_rank = std::max(last_rank, piece.holders.back());
        elements_.resize(static_cast<std::size_t>(last_rank) + 1);
    }

    // Divides the boxes of `unsharded` into shards of `bucket`, which has been moved out of `unsharded`.
    void add_shards(const UnshardedBucket& unsharded, Bucket& bucket) {
        for (std::size_t i = 0; i < unsharded.boxes.size(); ++i) {
            add_piece_shards(bucket, bucket.pieces[i], unsharded.boxes[i]);
        }
    }

private:
    void add_piece_shards(Bucket& bucket, std::size_t piece_index, const Box& box) {
        const bool is_cut = box.rows.count >= bucket.holders.size();
        const std::vector<Owner> owners =
            is_cut ? sort_by_owned_elements(bucket.holders) : find_smallest_owner(bucket.holders);
        const std::vector<Range> ranges = cut_evenly(box.rows.count, owners.size());
        if (bucket.shards.empty()) bucket.shards.reserve(owners.size());
        for (std::size_t i = 0; i < owners.size(); ++i) {
            const Range rows{box.rows.begin + ranges[i].begin, ranges[i].count};
            bucket.shards.push_back({piece_index, {rows, box.columns}, owners[i].rank});
            elements(owners[i].rank) += rows.count * box.columns.count;
        }
    }

    // Returns all holders, sorted by the number of elements that they own.
    std::vector<Owner> sort_by_owned_elements(const std::vector<int>& holders) const {
        std::vector<Owner> owners;
        owners.reserve(holders.size());
        for (const int rank : holders) owners.push_back({elements(rank), rank});
        std::ranges::sort(owners);
        return owners;
    }

    // Returns a list of one holder: the lowest rank among those that own the fewest elements.
    std::vector<Owner> find_smallest_owner(const std::vector<int>& holders) const {
        const int rank = *std::ranges::min_element(holders, {}, [&](int holder) { return elements(holder); });
        return {{elements(rank), rank}};
    }

    std::size_t elements(int rank) const { return elements_[static_cast<std::size_t>(rank)]; }

    std::size_t& elements(int rank) { return elements_[static_cast<std::size_t>(rank)]; }

    std::vector<std::size_t> elements_;  // per rank: number of elements that it owns
};

// Returns the indices of the pieces in the order in which a backward pass completes their gradients.
std::vector<std::size_t> sort_by_last_use(const std::vector<HeldTensor>& tensors,
                                          const std::vector<Piece>& pieces) {
    std::vector<std::size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t piece) { return tensors[pieces[piece].tensor].last_use; });
    return order;
}

}  // namespace

std::vector<Bucket> fill_buckets(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                                 const BucketRules& rules) {
    BucketFiller filler(rules);
    for (const std::size_t piece : sort_by_last_use(tensors, pieces)) {
        const HeldTensor& tensor = tensors[pieces[piece].tensor];
        if (tensor.is_trained) filler.add(piece, pieces[piece], tensor.last_use);
    }
    OwnerAssignment assignment(pieces);
    std::vector<Bucket> buckets;
    for (UnshardedBucket& unsharded : std::move(filler).take_sorted_by_last_use()) {
        Bucket& bucket = buckets.emplace_back(std::move(unsharded.bucket));
        assignment.add_shards(unsharded, bucket);
    }
    return buckets;
}

}  // namespace trireme::layout
