// Pieces: cells of the coarsest common refinement of all ranks' slices of a tensor. Replicas may be cut
// differently, tables may be tied, and heads may be held twice: every piece still has one set of holders, over
// which its gradient is summed.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

struct Slice {
    int rank = 0;
    Box box;
};

// A named global tensor and its slices per rank. The boxes of one rank do not overlap.
struct HeldTensor {
    std::string name;
    std::size_t rows = 1;
    std::size_t columns = 0;
    std::size_t last_use = 0;  // first layer of the model that uses it, so the last one in a backward pass
    std::vector<Slice> slices;
};

struct Piece {
    std::size_t tensor = 0;  // index of the tensor in the list
    Box box;
    std::vector<int> holders;  // ascending
};

// Cuts tensors into pieces that cover every held element exactly once. The pieces of a tensor are sorted by
// row, then column. Adjacent cells with equal holders form one piece.
std::vector<Piece> cut_in_pieces(const std::vector<HeldTensor>& tensors);

// Whole rows of a piece, whose gradient one holder sums and whose optimizer state it keeps.
struct Shard {
    std::size_t piece = 0;
    Box box;  // in the global tensor
    int owner = 0;
};

// Pieces with equal holders whose gradients are reduced in one message.
struct Bucket {
    std::vector<int> holders;  // ascending; a single holder has nothing to reduce
    std::size_t last_use = 0;  // smallest last_use of its tensors: complete after that layer's backward pass
    std::vector<std::size_t> pieces;
    std::vector<Shard> shards;  // sorted by piece, then row
    std::size_t elements = 0;
};

struct BucketRules {
    std::size_t large = std::size_t{1} << 20;    // elements: larger or equal pieces get buckets of their own
    std::size_t largest = std::size_t{4} << 20;  // maximum elements of a bucket; larger pieces are cut by rows
};

// Distributes pieces over buckets. A large piece is cut by rows over several buckets; any other piece belongs
// to one. Buckets are sorted by descending last_use, the order in which a backward pass completes them. All
// ranks start their reductions in this order.
//
// The rows of a bucket are spread over its holders. A piece with fewer rows than holders goes to the holder
// with the fewest elements in all buckets so far; the lowest rank wins ties. Any other piece is cut evenly by
// rows, and the holder with the fewest elements gets the first rows.
std::vector<Bucket> fill_buckets(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                                 const BucketRules& rules = {});

}  // namespace trireme::layout
