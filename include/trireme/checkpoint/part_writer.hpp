// Writes a part, the file of one rank in a checkpoint: part-<save id>-<rank>.h5.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/hdf5_file_image.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"

namespace trireme::checkpoint {

// Phases of a save, in their order. Tests observe the phases and end the process at the beginning of each
// phase.
enum class SavePhase : std::uint8_t {
    layout,  // creates a part with its HDF5 metadata
    space,   // reserves disk space for the part
    data,    // writes the boxes of the part
    sums,    // writes the checksums of the part
    sync,    // syncs the part to disk
    model,   // writes model.h5
    config,  // writes config.json, tokenizer.json and generation_config.json
    state,   // writes state.json
    place,   // renames the folder to step-N
    latest,  // writes the file `latest`
    clean    // removes an old checkpoint
};
// Called before each phase.
using PhaseObserver = std::function<void(SavePhase)>;

// A box of a tensor's values or of one of its moments.
struct StateBox {
    std::size_t tensor = 0;  // index in CheckpointState::tensors
    StateField field = StateField::value;
    layout::Box box;

    friend bool operator==(const StateBox&, const StateBox&) = default;
};

// Returns the boxes of a part in the order in which they are written: the values of all boxes, then the first
// moments of all boxes of tensors with moments, then the second moments.
std::vector<StateBox> list_boxes(const CheckpointState& state, const CheckpointPart& part);
std::size_t byte_size(const CheckpointState& state, const StateBox& box);  // bytes of `box` in a part

// File offsets of the boxes and checksums in a part, and the contents of its HDF5 metadata. The layout is equal
// for all saves of a run under one plan. It is computed only once, because HDF5 needs time per box.
class PartLayout {
public:
    // Computes the layout of state.parts[part]. Throws ResourceError.
    PartLayout(const CheckpointState& state, std::size_t part);

private:
    friend class PartWriter;
    struct Extent {
        std::uint64_t offset = 0;    // offset of the box in the file, in bytes
        std::size_t row_bytes = 0;   // bytes per row
        std::size_t block_rows = 1;  // rows per checksum
    };

    void write_metadata(archive::hdf5::Id file, const CheckpointState& state);
    std::size_t count_checksums(std::size_t box) const;

    std::size_t part_;
    std::vector<StateBox> boxes_;
    std::vector<Extent> extents_;                    // per box
    std::vector<std::string> tensors_with_moments_;  // names, in the order of updates_array
    std::uint64_t updates_offset_ = 0;
    std::uint64_t checksums_offset_ = 0;
    // Initialized last: its constructor calls write_metadata(), which sets extents_ and the offsets.
    archive::hdf5::Imprint imprint_;
};

class PartWriter {
public:
    // Creates the file of a part in `folder`, with all HDF5 metadata of the file; write() does not use HDF5.
    // `layout` is the layout of the part, made for this save or an earlier one. `updates` has an entry for each
    // tensor with moments in the part; others are ignored. `state` and `layout` must outlive the writer. The
    // constructor and write() throw ResourceError if the operating system reports an error such as a full disk,
    // and ConfigError if files cannot be written in `folder`.
    PartWriter(const std::filesystem::path& folder, const CheckpointState& state, const PartLayout& layout,
               const UpdateCounts& updates, const PhaseObserver& before_phase = {});

    // Returns the bytes of the rows `rows` of a box: `box` is its index in list_boxes(), and `rows` counts from
    // the first row of the box. The bytes must stay valid until the next call.
    using RowReader = std::function<std::span<const std::byte>(std::size_t box, layout::Range rows)>;
    // Writes the boxes and their checksums, and syncs the file. Calls `read_rows` for the boxes in the order of
    // list_boxes(). May be called on any thread.
    void write(const RowReader& read_rows) const;

private:
    void begin_phase(SavePhase phase) const;
    archive::WritableFile create_file(const std::filesystem::path& path) const;

    const CheckpointState& state_;
    const PartLayout& layout_;
    std::vector<std::uint64_t> updates_;  // per tensor with moments
    PhaseObserver before_phase_;
    archive::WritableFile file_;
};

}  // namespace trireme::checkpoint
