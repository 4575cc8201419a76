// Pieces: boxes of a tensor. All elements of a piece have the same holders, and the gradient of a piece is
// summed over its holders. This rule covers replicas with different shares, tied embeddings, and key-value
// heads that several ranks hold.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// A box of a tensor that a rank holds.
struct Slice {
    int rank = 0;
    Box box;
};

// A named global tensor and the slices of this tensor that ranks hold. The boxes of one rank do not overlap.
struct HeldTensor {
    std::string name;
    std::size_t rows = 1;
    std::size_t columns = 0;
    std::size_t last_use = 0;  // first layer that uses the tensor; a backward pass reaches this layer last
    std::vector<Slice> slices;
    bool is_trained = true;  // false for a frozen tensor, which has no gradient and no optimizer state
};

// True if each of the ranks that hold the tensor holds the whole tensor, and the ranks are ascending, as
// without tensor groups. The tensor is then one piece.
bool is_whole_on_each_rank(const HeldTensor& tensor);
// Returns the rank of each slice.
std::vector<int> list_ranks(const std::vector<Slice>& slices);

// A box of a tensor. All elements of the box have the same holders.
struct Piece {
    std::size_t tensor = 0;  // index into the list of tensors
    Box box;
    std::vector<int> holders;  // ranks that hold the whole piece, ascending
};

// Cuts tensors into pieces. Every element that a rank holds is in exactly one piece. Pieces are sorted by
// tensor, then first row, then first column. Adjacent boxes with equal holders form one piece if together they
// are a box. Throws BugError if a slice exceeds its tensor.
std::vector<Piece> cut_in_pieces(const std::vector<HeldTensor>& tensors);

// Rows of a piece. One holder, the owner, sums the gradient of these rows. With a sharded optimizer, only the
// owner keeps the optimizer state of these rows.
struct Shard {
    std::size_t piece = 0;  // index into the list of pieces
    Box box;                // the rows, as a box of the global tensor
    int owner = 0;          // rank of the owner
};

// Pieces with equal holders, or some rows of one large piece. One message reduces all gradients of a bucket.
struct Bucket {
    std::vector<int> holders;         // ascending; a single holder has nothing to reduce
    std::size_t last_use = 0;         // smallest last_use of the bucket's tensors: the gradients are complete
                                      // after the backward pass of this layer
    std::vector<std::size_t> pieces;  // indices into the list of pieces
    std::vector<Shard> shards;        // in the order of `pieces`; the shards of a piece are sorted by row
    std::size_t elements = 0;         // number of elements of all shards
};

struct BucketRules {
    // Pieces with at least this number of elements get buckets of their own.
    std::size_t large_piece_elements = std::size_t{1} << 20;
    // Maximum number of elements of a bucket, unless the bucket is a single row of a piece.
    std::size_t max_bucket_elements = std::size_t{4} << 20;

    friend bool operator==(const BucketRules&, const BucketRules&) = default;
};

// Distributes the pieces of trained tensors over buckets. A piece that exceeds `max_bucket_elements` is cut by
// rows into several buckets; any other piece belongs to one bucket. Buckets are sorted by descending last_use,
// the order in which a backward pass completes them. All ranks start their reductions in this order.
//
// Shards are made bucket by bucket: the rows that a bucket has of a piece are divided among the holders. If
// there are fewer rows than holders, one shard has all these rows. Its owner is the holder that owns the fewest
// elements so far. Otherwise the rows are cut evenly into one shard per holder. The first shards may have one
// row more, so they go to the holders that own the fewest elements so far. The lowest rank wins ties.
std::vector<Bucket> fill_buckets(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                                 const BucketRules& rules = {});

}  // namespace trireme::layout
