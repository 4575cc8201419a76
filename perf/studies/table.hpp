// Writes a study's table and charts from the rows of its points.
#pragma once

#include <vector>

#include "row.hpp"

namespace trireme::studies {

struct TableRow {
    const Point* point = nullptr;
    Row row = {};
};

// Writes OUTPUT/NAME.csv and, for each chart, OUTPUT/NAME-FIGURE.svg. The first line of the CSV file is a
// comment with the command, and the column "program" has the version of trireme that ran the row. `points` are
// all points of the study: each option that its axes set is a column, even if only points without a row set it.
void write_table(const Study& study, const std::vector<Point>& points, const std::vector<TableRow>& rows,
                 const std::filesystem::path& output);

}  // namespace trireme::studies
