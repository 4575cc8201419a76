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
    std::vector<Box> boxes;  // per piece of the bucket: the box of the piece that belongs to this bucket

    void add(std::size_t piece, const Box& box, std::size_t last_use) {
        bucket.pieces.push_back(piece);
        boxes.push_back(box);
        bucket.elements += box.size();
        bucket.last_use = std::min(bucket.last_use, last_use);
    }
};

// Distributes pieces over buckets. `piece_index` is an index into the list of all pieces.
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

    std::vector<UnshardedBucket> take_sorted_by_use() && {
        std::ranges::stable_sort(buckets_, std::ranges::greater{},
                                 [](const UnshardedBucket& unsharded) { return unsharded.bucket.last_use; });
        return std::move(buckets_);
    }

private:
    UnshardedBucket& open_bucket(const Piece& piece, std::size_t last_use) {
        return buckets_.emplace_back(UnshardedBucket{{piece.holders, last_use, {}, {}, 0}, {}});
    }

    void add_to_own_buckets(std::size_t piece_index, const Piece& piece, std::size_t last_use) {
        const std::size_t rows = std::max<std::size_t>(1, rules_.max_bucket_elements / piece.box.columns.count);
        const std::size_t parts = (piece.box.rows.count + rows - 1) / rows;
        for (const Range& part : cut_evenly(piece.box.rows.count, parts)) {
            const Range bucket_rows{piece.box.rows.begin + part.begin, part.count};
            open_bucket(piece, last_use).add(piece_index, {bucket_rows, piece.box.columns}, last_use);
        }
    }

    // Adds a small piece to the last bucket of its holders, or to a new bucket if the last one is full. A
    // bucket is full at `large_piece_elements`: the reduction of a larger bucket would start later without
    // being more efficient.
    void add_to_shared_bucket(std::size_t piece_index, const Piece& piece, std::size_t last_use) {
        const auto [entry, is_new] = last_shared_bucket_.try_emplace(piece.holders, buckets_.size());
        if (!is_new && is_full(buckets_[entry->second].bucket, piece)) entry->second = buckets_.size();
        if (entry->second == buckets_.size()) open_bucket(piece, last_use);
        buckets_[entry->second].add(piece_index, piece.box, last_use);
    }

    bool is_full(const Bucket& bucket, const Piece& next) const {
        return bucket.elements >= rules_.large_piece_elements ||
               bucket.elements + next.box.size() > rules_.max_bucket_elements;
    }

    BucketRules rules_;
    std::vector<UnshardedBucket> buckets_;
    std::map<std::vector<int>, std::size_t>
        last_shared_bucket_;  // holders -> index of their last bucket of small pieces
};

// A holder of a bucket. Owners are sorted by `elements`, then by `rank`.
struct Owner {
    std::size_t elements = 0;  // number of elements that the rank owns so far
    int rank = 0;

    friend auto operator<=>(const Owner&, const Owner&) = default;
};

// Assigns rows to owners and counts the elements of each owner.
class OwnerAssignment {
public:
    explicit OwnerAssignment(const std::vector<Piece>& pieces) {
        int last = 0;
        for (const Piece& piece : pieces) last = std::max(last, piece.holders.back());
        elements_.resize(static_cast<std::size_t>(last) + 1);
    }

    void add_shards(const UnshardedBucket& unsharded, Bucket& bucket) {
        for (std::size_t i = 0; i < unsharded.boxes.size(); ++i) {
            add_piece_shards(bucket, bucket.pieces[i], unsharded.boxes[i]);
        }
    }

private:
    void add_piece_shards(Bucket& bucket, std::size_t piece, const Box& box) {
        const bool is_cut = box.rows.count >= bucket.holders.size();
        const std::vector<Owner> owners =
            is_cut ? sort_by_elements(bucket.holders) : find_smallest_owner(bucket.holders);
        const std::vector<Range> ranges = cut_evenly(box.rows.count, owners.size());
        if (bucket.shards.empty()) bucket.shards.reserve(owners.size());
        for (std::size_t i = 0; i < owners.size(); ++i) {
            const Range rows{box.rows.begin + ranges[i].begin, ranges[i].count};
            bucket.shards.push_back({piece, {rows, box.columns}, owners[i].rank});
            elements(owners[i].rank) += rows.count * box.columns.count;
        }
    }

    // Returns all holders, those with the fewest elements first.
    std::vector<Owner> sort_by_elements(const std::vector<int>& holders) const {
        std::vector<Owner> owners;
        owners.reserve(holders.size());
        for (const int rank : holders) owners.push_back({elements(rank), rank});
        std::ranges::sort(owners);
        return owners;
    }

    // Returns a list of one holder: the lowest rank among those with the fewest elements.
    std::vector<Owner> find_smallest_owner(const std::vector<int>& holders) const {
        const int rank = *std::ranges::min_element(holders, {}, [&](int holder) { return elements(holder); });
        return {{elements(rank), rank}};
    }

    std::size_t elements(int rank) const { return elements_[static_cast<std::size_t>(rank)]; }

    std::size_t& elements(int rank) { return elements_[static_cast<std::size_t>(rank)]; }

    std::vector<std::size_t> elements_;  // per rank
};

// Returns the indices of the pieces in the order in which a backward pass completes them.
std::vector<std::size_t> sort_by_last_use(const std::vector<HeldTensor>& tensors,
                                          const std::vector<Piece>& pieces) {
    std::vector<std::size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t p) { return tensors[pieces[p].tensor].last_use; });
    return order;
}

}  // namespace

std::vector<Bucket> fill_buckets(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                                 const BucketRules& rules) {
    BucketFiller filler(rules);
    for (const std::size_t p : sort_by_last_use(tensors, pieces)) {
        filler.add(p, pieces[p], tensors[pieces[p].tensor].last_use);
    }
    OwnerAssignment assignment(pieces);
    std::vector<Bucket> buckets;
    for (UnshardedBucket& unsharded : std::move(filler).take_sorted_by_use()) {
        Bucket& bucket = buckets.emplace_back(std::move(unsharded.bucket));
        assignment.add_shards(unsharded, bucket);
    }
    return buckets;
}

}  // namespace trireme::layout
