#include "trireme/mover/staging_copies.hpp"

#include "mover/move_pieces.hpp"
#include "mover/rounds.hpp"

namespace trireme::mover {
namespace {

std::map<int, std::vector<int>> group_ranks_by_node(const std::vector<int>& nodes) {
    std::map<int, std::vector<int>> ranks_by_node;
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
        ranks_by_node[nodes[rank]].push_back(static_cast<int>(rank));
    }
    return ranks_by_node;
}

class StagingPlanner {
public:
    explicit StagingPlanner(const MoveRules& rules)
        : rules_(rules),
          ranks_by_node_(group_ranks_by_node(rules.nodes)),
          source_chooser_(rules.nodes),
          receiver_chooser_(rules.nodes),
          rounds_(rules.max_elements_per_round) {}

    void add(const MovePiece& piece) {
        for (const int rank : piece.list_retaining_ranks()) add_local_copy(move_.local, piece, piece.box, rank);
        std::map<int, std::vector<int>> receivers_by_node;
        for (const int rank : piece.list_receiving_ranks()) receivers_by_node[find_node(rank)].push_back(rank);
        for (const auto& [node, receivers] : receivers_by_node) {
            move_.staging_boxes[node].push_back({piece.tensor, piece.box});
            for (const layout::Box& box : cut_box(piece.box, rules_.max_elements_per_round))
                plan_staging(piece, box, receivers.front());
            for (const int rank : receivers) add_local_copy(move_.from_staging, piece, piece.box, rank);
        }
    }

    // `tensors` are the tensors after the move. MovePiece::tensor is an index in `tensors`.
    StagedMove finish(const std::vector<layout::HeldTensor>& tensors) && {
        move_.to_staging.rounds = std::move(rounds_).take_rounds();
        for (Move* const move : {&move_.to_staging, &move_.local, &move_.from_staging}) {
            for (const layout::HeldTensor& tensor : tensors) move->tensors.push_back(tensor.name);
        }
        return std::move(move_);
    }

private:
    int find_node(int rank) const {
        return rules_.nodes.empty() ? 0 : rules_.nodes.at(static_cast<std::size_t>(rank));
    }

    static void add_local_copy(Move& move, const MovePiece& piece, const layout::Box& box, int rank) {
        move.local_copies.push_back({piece.tensor, box, rank, rank});
    }

    // Plans how `box`, a box of `piece`, gets to the staging copy of the node of `rank`. If a rank of the node
    // holds the box, that rank copies the box. Otherwise the rank of the node that has received the fewest
    // elements so far receives the box.
    void plan_staging(const MovePiece& piece, const layout::Box& box, int rank) {
        const int source = source_chooser_.choose(piece.before, rank, box.size());
        if (find_node(source) == find_node(rank)) return add_local_copy(move_.to_staging, piece, box, source);
        const int receiver = receiver_chooser_.choose(ranks_by_node_.at(find_node(rank)), rank, box.size());
        rounds_.add({piece.tensor, box, source, receiver});
    }

    const MoveRules& rules_;
    std::map<int, std::vector<int>> ranks_by_node_;  // empty if rules_.nodes is empty
    LeastLoadedRankChooser source_chooser_;
    LeastLoadedRankChooser receiver_chooser_;  // counts received elements instead of sent ones
    Rounds rounds_;
    StagedMove move_;
};

}  // namespace

std::size_t StagedMove::count_node_elements(int node) const {
    const auto node_entry = staging_boxes.find(node);
    std::size_t sum = 0;
    if (node_entry == staging_boxes.end()) return sum;
    for (const layout::TensorBox& tensor_box : node_entry->second) sum += tensor_box.box.size();
    return sum;
}

std::size_t StagedMove::count_elements() const {
    std::size_t sum = 0;
    for (const auto& [node, boxes] : staging_boxes) sum += count_node_elements(node);
    return sum;
}

StagedMove plan_staged_move(const std::vector<layout::HeldTensor>& before,
                            const std::vector<layout::HeldTensor>& after, const MoveRules& rules) {
    StagingPlanner planner(rules);
    for (const MovePiece& piece : make_move_pieces(before, after)) planner.add(piece);
    return std::move(planner).finish(after);
}

std::vector<BoxInMemory> list_staging_copy_boxes(const StagedMove& move, int node, device::DType dtype,
                                                 std::byte* memory) {
    std::vector<BoxInMemory> boxes;
    const auto node_entry = move.staging_boxes.find(node);
    if (node_entry == move.staging_boxes.end()) return boxes;
    for (const auto& [tensor, box] : node_entry->second) {
        const device::Tensor staging_box{memory, dtype, box.rows.count, box.columns.count, box.columns.count};
        boxes.push_back({move.to_staging.tensors[tensor], {.box = box, .row = 0, .column = 0}, staging_box});
        memory += staging_box.bytes();
    }
    return boxes;
}

}  // namespace trireme::mover
