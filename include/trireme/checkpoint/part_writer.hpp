// One rank's file of a checkpoint: part-<save>-<rank>.h5.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/hdf5_imprint.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"

namespace trireme::checkpoint {

// Tests look on, and end the process at any of these.
enum class SaveStage : std::uint8_t {
    layout,
    space,
    data,
    sums,
    sync,
    model,
    config,
    state,
    place,
    latest,
    clean
};
using BeforeStage = std::function<void(SaveStage)>;

// A box of a tensor of a state, or of one of its moments.
struct StateBox {
    std::size_t tensor = 0;
    StateField field = StateField::value;
    layout::Box box;

    friend bool operator==(const StateBox&, const StateBox&) = default;
};

// What is in a part, in the order in which it is written.
std::vector<StateBox> boxes_of(const CheckpointState& state, const CheckpointPart& part);
std::size_t bytes_of(const CheckpointState& state, const StateBox& box);

// Where everything lies in a part, whichever save it is of: made once, as HDF5 takes its time over each box.
class PartLayout {
public:
    // Of state.parts[part]. Throws ResourceError.
    PartLayout(const CheckpointState& state, std::size_t part);

private:
    friend class PartWriter;
    struct Extent {
        std::uint64_t offset = 0;  // in the file
        std::size_t row_bytes = 0;
        std::size_t block_rows = 1;  // under one sum
    };

    void fill(archive::hdf5::Id file, const CheckpointState& state);
    std::size_t sums_of(std::size_t box) const;

    std::size_t part_;
    std::vector<StateBox> boxes_;
    std::vector<Extent> places_;
    std::uint64_t sums_offset_ = 0;
    archive::hdf5::Imprint imprint_;  // made last
};

class PartWriter {
public:
    // Makes the file of a part of the state in `folder` and all that HDF5 has to say in it; from then on HDF5
    // is not needed. `layout` is of that part, perhaps of an earlier save; `updates` are those behind the
    // moments in it. `state` and `layout` outlive the writer. Throws ResourceError where the machine refuses,
    // ConfigError where nothing can be written there; as write() does.
    PartWriter(const std::filesystem::path& folder, const CheckpointState& state, const PartLayout& layout,
               std::uint64_t updates, const BeforeStage& before = {});

    // The bytes of some rows of a box, which are read at once.
    using Rows = std::function<std::span<const std::byte>(std::size_t box, layout::Range rows)>;
    // Writes and syncs all that is in boxes_of(); any thread may do it.
    void write(const Rows& rows) const;

private:
    void before(SaveStage stage) const;
    archive::WritableFile create(const std::filesystem::path& path, std::uint64_t updates) const;

    const CheckpointState& state_;
    const PartLayout& layout_;
    BeforeStage before_;
    archive::WritableFile file_;
};

}  // namespace trireme::checkpoint
