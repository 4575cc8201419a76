#include "checkpoint/part_reader.hpp"

#include <algorithm>
#include <utility>

#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/base/error.hpp"

namespace trireme::checkpoint {
namespace fs = std::filesystem;
using namespace checkpoint_schema;

namespace {

std::string name_of(const CheckpointState& state, const StateBox& box) {
    return array_path(box.field, state.tensors[box.tensor].name, box.box);
}

}  // namespace

PartReader::PartReader(const fs::path& path, const CheckpointState& state, const CheckpointPart& part,
                       const std::string& state_sha256)
    : path_(path), state_(state), file_(archive::hdf5::open_read_only(path, copy_again)), bytes_(path) {
    const std::string kind = text("format");
    if (kind != format) refuse(cat("is of the kind '", kind, "', not '", format, "'"));
    if (number("schema_version") != version)
        refuse(cat("has the checkpoint schema ", number("schema_version"), ", not ", version));
    if (text(save_name) != state.save || number("part") != part.number || text(state_sum) != state_sha256)
        refuse(cat("is of another save than its name and ", state_file, " say"));
    updates_ = number(update_count);
    read_sums();
    bytes_.expect_in_order();
}

void PartReader::refuse(const std::string& fault) const {
    throw ConfigError(cat(path_.string(), ' ', fault, "; ", copy_again));
}

std::uint64_t PartReader::number(const char* name) const {
    const auto value = archive::hdf5::read_number(file_.get(), name);
    if (!value) refuse(cat("is damaged: its attribute '", name, "' is missing"));
    return *value;
}

std::string PartReader::text(const char* name) const {
    auto value = archive::hdf5::read_text(file_.get(), name);
    if (!value) refuse(cat("is damaged: its attribute '", name, "' is missing"));
    return std::move(*value);
}

void PartReader::read_sums() {
    const archive::hdf5::Array sums = archive::hdf5::open_array(file_.get(), path_, sums_array, copy_again);
    const bool fits =
        sums.type == archive::StoredType::u8 && sums.shape.size() == 2 && sums.shape[1] == sum_digits;
    if (!fits || sums.bytes() > bytes_.size()) refuse("is damaged: it has no list of checksums");
    sums_.resize(sums.bytes());
    bytes_.read(sums.offset, std::as_writable_bytes(std::span(sums_)));
}

PartReader::BoxExtent PartReader::extent_of(const StateBox& box) const {
    const CheckpointTensor& facts = state_.tensors[box.tensor];
    const std::string name = name_of(state_, box);
    const archive::hdf5::Array array = archive::hdf5::open_array(file_.get(), path_, name, copy_again);
    const auto& [rows, columns] = box.box;
    const std::vector<std::uint64_t> place = archive::hdf5::read_numbers(array.dataset.get(), box_attribute);
    const std::vector<std::uint64_t> sums = archive::hdf5::read_numbers(array.dataset.get(), sums_attribute);
    const bool fits =
        array.type == facts.type && array.shape == std::vector<std::uint64_t>{rows.count, columns.count} &&
        place == std::vector<std::uint64_t>{rows.begin, rows.count, columns.begin, columns.count} &&
        sums.size() == 2 && sums[1] > 0 && sums[1] <= std::max<std::size_t>(rows.count, block_bytes);
    if (!fits) refuse(cat("is damaged: ", name, " is not what its name and ", state_file, " say"));
    const std::uint64_t count = (rows.count + sums[1] - 1) / sums[1];
    if (count > sums_.size() / sum_digits || sums[0] > sums_.size() / sum_digits - count)
        refuse(cat("is damaged: ", name, " has no checksums"));
    return {.offset = array.offset,
            .first_sum = sums[0],
            .block_rows = sums[1],
            .row_bytes = columns.count * bytes_of(facts.type)};
}

void PartReader::check(const BlockRead& read, const std::string& sum) const {
    const auto recorded = std::string_view(sums_).substr(read.sum * sum_digits, sum_digits);
    if (sum != recorded)
        refuse(cat("is damaged: the SHA-256 of ", name_of(state_, read.box), " is ", sum, " in its block ",
                   read.sum, ", recorded is ", recorded));
}

void PartReader::add_reads(std::vector<BlockRead>& reads, const StateBox& box, const layout::Box& wanted,
                           const UseRows& use) const {
    const layout::Box part = intersection(box.box, wanted);
    if (part.is_empty()) return;
    const BoxExtent place = extent_of(box);
    const std::size_t column_bytes =
        (part.columns.begin - box.box.columns.begin) * bytes_of(state_.tensors[box.tensor].type);
    // Rows relative to the stored box.
    const layout::Range rows{part.rows.begin - box.box.rows.begin, part.rows.count};
    for (std::size_t b = rows.begin / place.block_rows; b * place.block_rows < rows.end(); ++b) {
        const std::size_t first = b * place.block_rows;
        const std::size_t count = std::min(place.block_rows, box.box.rows.count - first);
        const layout::Range own = intersection(layout::Range{first, count}, rows);
        reads.push_back({.part = this,
                         .offset = place.offset + first * place.row_bytes,
                         .bytes = count * place.row_bytes,
                         .sum = place.first_sum + b,
                         .box = box,
                         .first = (own.begin - first) * place.row_bytes + column_bytes,
                         .stride = place.row_bytes,
                         .wanted = {{box.box.rows.begin + own.begin, own.count}, part.columns},
                         .use = &use});
    }
}

CheckpointParts::CheckpointParts(fs::path folder, const CheckpointState& state, std::string state_sha256)
    : folder_(std::move(folder)),
      state_(state),
      state_sha256_(std::move(state_sha256)),
      boxes_(state.tensors.size()),
      parts_(state.parts.size()) {
    for (std::size_t p = 0; p < state.parts.size(); ++p)
        for (const auto& [tensor, box] : state.parts[p].boxes) boxes_[tensor].push_back({p, box});
}

const PartReader& CheckpointParts::part(std::size_t number) const {
    const CheckpointPart& facts = state_.parts[number];
    if (!parts_[number])
        parts_[number] = std::make_unique<PartReader>(folder_ / part_file(state_.save, facts.number), state_,
                                                      facts, state_sha256_);
    return *parts_[number];
}

template <class Use>
void CheckpointParts::for_each_part_of(std::size_t tensor, const layout::Box& wanted, Use&& use) const {
    for (const auto& [number, box] : boxes_[tensor])
        if (!intersection(box, wanted).is_empty()) use(part(number), box);
}

void CheckpointParts::read(const std::vector<WantedBox>& wanted, int threads) const {
    std::vector<BlockRead> reads;
    for (const WantedBox& each : wanted)
        for_each_part_of(each.tensor, each.box, [&](const PartReader& reader, const layout::Box& box) {
            reader.add_reads(reads, {each.tensor, each.field, box}, each.box, each.use);
        });
    carry_out(std::move(reads), threads);
}

void CheckpointParts::add_updates(std::set<std::uint64_t>& counts, std::size_t tensor,
                                  const layout::Box& wanted) const {
    for_each_part_of(tensor, wanted,
                     [&](const PartReader& reader, const layout::Box&) { counts.insert(reader.updates()); });
}

void CheckpointParts::verify(const std::function<void(const StoredRows&, archive::StoredType)>& see) const {
    std::vector<WantedBox> all;
    for (std::size_t field = 0; field <= state_.moments; ++field)
        for (std::size_t t = 0; t < state_.tensors.size(); ++t)
            all.push_back(
                {.tensor = t,
                 .field = state_field(field),
                 .box = {{0, state_.tensors[t].rows}, {0, state_.tensors[t].columns}},
                 .use = [&see, type = state_.tensors[t].type](const StoredRows& rows) { see(rows, type); }});
    read(all, 1);
}

}  // namespace trireme::checkpoint
