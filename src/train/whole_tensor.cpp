#include "train/whole_tensor.hpp"

#include <array>
#include <cstring>

namespace trireme {
namespace {

constexpr int collector = 0;  // the rank

// Row by row: either may have gaps between its rows.
void copy(ConstTensor from, Tensor to) {
    for (std::size_t r = 0; r < from.rows; ++r) {
        std::memcpy(to.row_range(r, 1).data, from.row_range(r, 1).data, from.row_range(r, 1).bytes());
    }
}

Tensor box_of(const Tensor& tensor, const Box& box) {
    return tensor.row_range(box.rows.begin, box.rows.count).column_range(box.columns.begin, box.columns.count);
}

}  // namespace

TensorCollector::TensorCollector(const GradientPlan& plan, DType dtype, const LocalParameters* held,
                                 Communicator& control)
    : plan_(plan), dtype_(dtype), held_(held), control_(control) {}

Tensor TensorCollector::space(std::vector<std::byte>& bytes, std::size_t rows, std::size_t columns) const {
    bytes.resize(rows * columns * bytes_of(dtype_));
    return {bytes.data(), dtype_, rows, columns, columns};
}

ConstTensor TensorCollector::collect(const ParameterSpec& spec) {
    const bool collects = control_.rank() == collector;
    const Tensor whole = collects ? space(whole_, spec.all_rows, spec.all_columns) : Tensor{};
    for (const Piece& piece : plan_.pieces) {
        if (plan_.tensors[piece.tensor].name != spec.name) continue;
        const int from = piece.holders.front();
        if (from == control_.rank() && collects) {
            copy(own_part(piece, spec.name), box_of(whole, piece.box));
        } else if (from == control_.rank()) {
            send(piece, spec);
        } else if (collects) {
            receive(piece, whole);
        }
    }
    return whole;
}

// A piece lies in one of the boxes that this rank holds of its tensor.
Tensor TensorCollector::own_part(const Piece& piece, const std::string& name) const {
    const std::size_t number = held_->number_of(name);
    for (const Placement& placement : held_->specs()[number].placements) {
        if (intersection(placement.box, piece.box) != piece.box) continue;
        const Box local{{placement.row + piece.box.rows.begin - placement.box.rows.begin, piece.box.rows.count},
                        {placement.column + piece.box.columns.begin - placement.box.columns.begin,
                         piece.box.columns.count}};
        return box_of(held_->values()[number], local);
    }
    throw BugError(cat("a piece of ", name, " is not where its holder has it"));
}

void TensorCollector::send(const Piece& piece, const ParameterSpec& spec) {
    const Tensor parcel = space(parcel_, piece.box.rows.count, piece.box.columns.count);
    copy(own_part(piece, spec.name), parcel);
    control_.wait(std::array{control_.start_send(parcel, collector)});
}

void TensorCollector::receive(const Piece& piece, Tensor whole) {
    const Tensor parcel = space(parcel_, piece.box.rows.count, piece.box.columns.count);
    control_.wait(std::array{control_.start_receive(parcel, piece.holders.front())});
    copy(parcel, box_of(whole, piece.box));
}

}  // namespace trireme
