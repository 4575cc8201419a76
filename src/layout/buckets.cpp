#include <algorithm>
#include <map>
#include <numeric>

#include "trireme/layout/pieces.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::layout {
namespace {

// A bucket before its rows are spread over its holders.
struct Filling {
    Bucket bucket;
    std::vector<Box> boxes;  // the box of each of its pieces that belongs to the bucket

    void add(std::size_t piece, const Box& box, std::size_t last_use) {
        bucket.pieces.push_back(piece);
        boxes.push_back(box);
        bucket.elements += box.size();
        bucket.last_use = std::min(bucket.last_use, last_use);
    }
};

class Fillings {
public:
    explicit Fillings(const BucketRules& rules) : rules_(rules) {}

    void add(std::size_t number, const Piece& piece, std::size_t last_use) {
        const std::size_t size = piece.box.size();
        if (size >= rules_.large || size > rules_.largest) {
            add_alone(number, piece, last_use);
        } else {
            add_joined(number, piece, last_use);
        }
    }

    std::vector<Filling> in_order_of_use() && {
        std::ranges::stable_sort(fillings_, std::ranges::greater{},
                                 [](const Filling& filling) { return filling.bucket.last_use; });
        return std::move(fillings_);
    }

private:
    Filling& new_filling(const Piece& piece, std::size_t last_use) {
        return fillings_.emplace_back(Filling{{piece.holders, last_use, {}, {}, 0}, {}});
    }

    void add_alone(std::size_t number, const Piece& piece, std::size_t last_use) {
        const std::size_t rows = std::max<std::size_t>(1, rules_.largest / piece.box.columns.count);
        const std::size_t parts = (piece.box.rows.count + rows - 1) / rows;
        for (const Range& part : cut_evenly(piece.box.rows.count, parts)) {
            const Range own{piece.box.rows.begin + part.begin, part.count};
            new_filling(piece, last_use).add(number, {own, piece.box.columns}, last_use);
        }
    }

    // Adds the piece to the last bucket of its holders unless that is full. A bucket larger than `large` would
    // only start its reduction later.
    void add_joined(std::size_t number, const Piece& piece, std::size_t last_use) {
        const auto [place, is_new] = open_.try_emplace(piece.holders, fillings_.size());
        if (!is_new && is_full(fillings_[place->second].bucket, piece)) place->second = fillings_.size();
        if (place->second == fillings_.size()) new_filling(piece, last_use);
        fillings_[place->second].add(number, piece.box, last_use);
    }

    bool is_full(const Bucket& bucket, const Piece& next) const {
        return bucket.elements >= rules_.large || bucket.elements + next.box.size() > rules_.largest;
    }

    BucketRules rules_;
    std::vector<Filling> fillings_;
    std::map<std::vector<int>, std::size_t> open_;  // holders -> index of their last bucket of small pieces
};

// A holder, ordered by the number of elements that it owns so far.
struct Owner {
    std::size_t elements = 0;  // so far
    int rank = 0;

    friend auto operator<=>(const Owner&, const Owner&) = default;
};

// Assigns rows to owners and counts the elements of each owner.
class Owners {
public:
    explicit Owners(const std::vector<Piece>& pieces) {
        int last = 0;
        for (const Piece& piece : pieces) last = std::max(last, piece.holders.back());
        elements_.resize(static_cast<std::size_t>(last) + 1);
    }

    void spread(const Filling& filling, Bucket& bucket) {
        for (std::size_t i = 0; i < filling.boxes.size(); ++i) {
            spread_rows(bucket, bucket.pieces[i], filling.boxes[i]);
        }
    }

private:
    void spread_rows(Bucket& bucket, std::size_t piece, const Box& box) {
        const bool is_cut = box.rows.count >= bucket.holders.size();
        const std::vector<Owner> owners = is_cut ? by_elements(bucket.holders) : fewest(bucket.holders);
        const std::vector<Range> ranges = cut_evenly(box.rows.count, owners.size());
        if (bucket.shards.empty()) bucket.shards.reserve(owners.size());
        for (std::size_t i = 0; i < owners.size(); ++i) {
            const Range rows{box.rows.begin + ranges[i].begin, ranges[i].count};
            bucket.shards.push_back({piece, {rows, box.columns}, owners[i].rank});
            elements(owners[i].rank) += rows.count * box.columns.count;
        }
    }

    // Returns all holders, those with the fewest elements first.
    std::vector<Owner> by_elements(const std::vector<int>& holders) const {
        std::vector<Owner> owners;
        owners.reserve(holders.size());
        for (const int rank : holders) owners.push_back({elements(rank), rank});
        std::ranges::sort(owners);
        return owners;
    }

    // Returns the first holder with the fewest elements.
    std::vector<Owner> fewest(const std::vector<int>& holders) const {
        const int rank = *std::ranges::min_element(holders, {}, [&](int holder) { return elements(holder); });
        return {{elements(rank), rank}};
    }

    std::size_t elements(int rank) const { return elements_[static_cast<std::size_t>(rank)]; }

    std::size_t& elements(int rank) { return elements_[static_cast<std::size_t>(rank)]; }

    std::vector<std::size_t> elements_;  // per rank
};

// Returns the indices of the pieces in the order in which a backward pass completes them.
std::vector<std::size_t> by_last_use(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces) {
    std::vector<std::size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t p) { return tensors[pieces[p].tensor].last_use; });
    return order;
}

}  // namespace

std::vector<Bucket> fill_buckets(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                                 const BucketRules& rules) {
    Fillings fillings(rules);
    for (const std::size_t p : by_last_use(tensors, pieces)) {
        fillings.add(p, pieces[p], tensors[pieces[p].tensor].last_use);
    }
    Owners owners(pieces);
    std::vector<Bucket> buckets;
    for (Filling& filling : std::move(fillings).in_order_of_use()) {
        Bucket& bucket = buckets.emplace_back(std::move(filling.bucket));
        owners.spread(filling, bucket);
    }
    return buckets;
}

}  // namespace trireme::layout
