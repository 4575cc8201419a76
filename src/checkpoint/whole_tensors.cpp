// Describes every whole tensor of a checkpoint as a virtual dataset of model.h5.
#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_imprint.hpp"
#include "trireme/base/error.hpp"
#include "trireme/checkpoint/write_checkpoint.hpp"

namespace trireme::checkpoint {
namespace {

using namespace checkpoint_schema;

struct Selection {
    std::vector<std::uint64_t> offset, extent;  // per axis of the tensor
};

// Returns the part of a tensor that a box of its matrix covers. The rows of the matrix are the tensor's first
// axis or all axes but the last. A box may cut the last of the row axes and the last column axis; others are
// whole. Throws BugError if the result does not have the box's size.
Selection selection_of(const CheckpointTensor& tensor, const layout::Box& box) {
    Selection selection{.offset = std::vector<std::uint64_t>(tensor.shape.size(), 0), .extent = tensor.shape};
    if (tensor.shape.empty()) return selection;
    if (tensor.shape.size() == 1) return {{box.columns.begin}, {box.columns.count}};
    const bool rows_lead = tensor.shape.front() == tensor.rows;
    const std::size_t row_axis = rows_lead ? 0 : tensor.shape.size() - 2;
    selection.offset[row_axis] = box.rows.begin;
    selection.extent[row_axis] = box.rows.count;
    if (box.columns.count < tensor.columns) {
        selection.offset.back() = box.columns.begin;
        selection.extent.back() = box.columns.count;
    }
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : selection.extent) elements *= extent;
    if (elements != box.size()) throw BugError(cat("a box of ", tensor.name, " has no place among its axes"));
    return selection;
}

std::vector<archive::hdf5::VirtualBox> boxes_of_tensor(const CheckpointState& state, std::size_t number,
                                                       StateField field) {
    const CheckpointTensor& tensor = state.tensors[number];
    std::vector<archive::hdf5::VirtualBox> boxes;
    for (const CheckpointPart& part : state.parts) {
        for (const auto& [held, box] : part.boxes) {
            if (held != number) continue;
            Selection selection = selection_of(tensor, box);
            boxes.push_back({.file = part_file(state.save, part.number),
                             .dataset = array_path(field, tensor.name, box),
                             .shape = {box.rows.count, box.columns.count},
                             .offset = std::move(selection.offset),
                             .extent = std::move(selection.extent)});
        }
    }
    return boxes;
}

void fill(archive::hdf5::Id file, const CheckpointState& state) {
    for (std::size_t field = 0; field <= state.moments; ++field) {
        for (std::size_t t = 0; t < state.tensors.size(); ++t) {
            const CheckpointTensor& tensor = state.tensors[t];
            archive::hdf5::create_virtual_array(file, cat('/', name_of(state_field(field)), '/', tensor.name),
                                                tensor.type, tensor.shape,
                                                boxes_of_tensor(state, t, state_field(field)));
        }
    }
}

}  // namespace

WholeTensors::WholeTensors(const CheckpointState& state)
    : save_(state.save),
      bytes_(archive::hdf5::Imprint([&](archive::hdf5::Id file) { fill(file, state); }).bytes()) {}

std::string WholeTensors::shown_of(const std::string& save) const {
    std::string bytes = bytes_;
    archive::hdf5::rename_virtual_sources(bytes, part_file_begin(save_), part_file_begin(save));
    return bytes;
}

}  // namespace trireme::checkpoint
