// Describes every whole tensor of a checkpoint as a virtual dataset of model.h5.
#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file_image.hpp"
#include "trireme/base/error.hpp"
#include "trireme/checkpoint/write_checkpoint.hpp"

namespace trireme::checkpoint {
namespace {

using namespace checkpoint_schema;

// A box in the coordinates of a tensor with any number of axes.
struct Selection {
    std::vector<std::uint64_t> offset, extent;  // per axis of the tensor
};

// Returns the elements of a tensor that a box of its matrix covers. The rows of the matrix are either the first
// axis of the tensor, or all axes except the last. In the second case, only the last row axis may be longer
// than 1. The box may cut the columns only if no column axis except the last is longer than 1. Throws BugError
// if the number of selected elements differs from that of the box.
Selection compute_selection(const CheckpointTensor& tensor, const layout::Box& box) {
    Selection selection{.offset = std::vector<std::uint64_t>(tensor.shape.size(), 0), .extent = tensor.shape};
    if (tensor.shape.empty()) return selection;
    if (tensor.shape.size() == 1) return {{box.columns.begin}, {box.columns.count}};
    const bool rows_are_first_axis = tensor.shape.front() == tensor.rows;
    const std::size_t row_axis = rows_are_first_axis ? 0 : tensor.shape.size() - 2;
    selection.offset[row_axis] = box.rows.begin;
    selection.extent[row_axis] = box.rows.count;
    if (box.columns.count < tensor.columns) {
        selection.offset.back() = box.columns.begin;
        selection.extent.back() = box.columns.count;
    }
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : selection.extent) elements *= extent;
    if (elements != box.size())
        throw BugError(cat("a box of ", tensor.name, " cannot be selected along the axes of the tensor"));
    return selection;
}

// Returns one entry per stored box of a tensor: the part file and the dataset that have the elements of the
// box, and the position of the box in the tensor. `requested_index` is the index of the tensor in
// `state.tensors`.
std::vector<archive::hdf5::VirtualBox> list_virtual_boxes(const CheckpointState& state,
                                                          std::size_t requested_index, StateField field) {
    const CheckpointTensor& tensor = state.tensors[requested_index];
    std::vector<archive::hdf5::VirtualBox> boxes;
    for (const CheckpointPart& part : state.parts) {
        for (const auto& [tensor_index, box] : part.boxes) {
            if (tensor_index != requested_index) continue;
            Selection selection = compute_selection(tensor, box);
            boxes.push_back({.file = make_part_file_name(state.save_id, part.rank),
                             .dataset = make_array_path(field, tensor.name, box),
                             .shape = {box.rows.count, box.columns.count},
                             .offset = std::move(selection.offset),
                             .extent = std::move(selection.extent)});
        }
    }
    return boxes;
}

void write_datasets(archive::hdf5::Id file, const CheckpointState& state) {
    for (std::size_t field = 0; field <= state.moments; ++field) {
        for (std::size_t t = 0; t < state.tensors.size(); ++t) {
            const CheckpointTensor& tensor = state.tensors[t];
            if (!has_field(tensor, to_state_field(field))) continue;
            archive::hdf5::create_virtual_array(
                file, cat('/', to_string(to_state_field(field)), '/', tensor.name), tensor.type, tensor.shape,
                list_virtual_boxes(state, t, to_state_field(field)));
        }
    }
}

}  // namespace

VirtualModelFile::VirtualModelFile(const CheckpointState& state)
    : save_id_(state.save_id), bytes_(archive::hdf5::Imprint([&](archive::hdf5::Id file) {
                                          write_datasets(file, state);
                                      }).assemble_file()) {}

std::string VirtualModelFile::make_bytes(const std::string& save_id) const {
    std::string bytes = bytes_;
    archive::hdf5::rename_source_files(bytes, make_part_file_prefix(save_id_), make_part_file_prefix(save_id));
    return bytes;
}

}  // namespace trireme::checkpoint
