// Pieces: cells of the coarsest common refinement of all ranks' slices of a tensor. Whatever unlike replicas,
// tied tables or groups held twice do to a tensor, every piece has its set of holders, over which its gradient
// is summed.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

struct Slice {
    int rank = 0;
    Box box;
};

// A named global tensor and who holds what of it. A rank may hold several boxes of it, none overlapping.
struct HeldTensor {
    std::string name;
    std::size_t rows = 1;
    std::size_t columns = 0;
    std::size_t last_use = 0;  // the first layer of the model that uses it: the last one of a backward pass
    std::vector<Slice> slices;
};

struct Piece {
    std::size_t tensor = 0;  // its number in the list
    Box box;
    std::vector<int> holders;  // ascending
};

// Covers every element that someone holds exactly once; pieces of a tensor in order of rows, then columns.
// Neighbouring cells with equal holders are one piece.
std::vector<Piece> cut_in_pieces(const std::vector<HeldTensor>& tensors);

// A part of a piece whose gradient one of its holders adds up, and whose optimizer state it keeps: a range of
// whole rows of the piece.
struct Shard {
    std::size_t piece = 0;
    Box box;  // within the global tensor
    int owner = 0;
};

// Pieces with equal holders that travel together.
struct Bucket {
    std::vector<int> holders;  // ascending; a single one has nothing to sum
    std::size_t last_use = 0;  // of its tensors: complete once that layer's backward pass is
    std::vector<std::size_t> pieces;
    std::vector<Shard> shards;  // of its pieces, piece by piece, rows ascending
    std::size_t elements = 0;
};

struct BucketRules {
    std::size_t large = std::size_t{1} << 20;    // elements: pieces of at least so many travel alone
    std::size_t largest = std::size_t{4} << 20;  // and are cut by rows where they have more
};

// Every piece belongs to one bucket, or to several that hold ranges of its rows. In the order in which a
// backward pass completes them: last_use descending; the order in which all ranks start to sum those they hold.
// A bucket's rows are spread over its holders: a piece with fewer rows than holders belongs whole to one (the
// one with the fewest elements so far, over all buckets, the first of equal ones), another one is cut evenly by
// rows, the holder with the fewest elements so far first.
std::vector<Bucket> fill_buckets(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                                 const BucketRules& rules = {});

}  // namespace trireme::layout
