#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>

#include <scotch.h>

#include "base/error.hpp"
#include "matrix/load.hpp"
#include "matrix/text.hpp"

namespace laneway::matrix {

namespace {

struct Header {
  std::int64_t vertices = 0;
  std::int64_t edges = 0;
  bool vertex_weights = false;
  bool edge_weights = false;
};

Header read_header(Lines& lines, const std::string& path, std::size_t bytes) {
  Header header;
  std::string_view first;
  do {
    if (!lines.next()) fail(path, lines.number(), "empty: expected numbers of vertices and edges");
    first = lines.word();
  } while (first.starts_with('%'));
  if (!parse_number(first, header.vertices) || !parse_number(lines.word(), header.edges) || header.vertices < 0 ||
      header.edges < 0)
    fail(path, lines.number(), "expected numbers of vertices and edges");
  const std::string_view format = lines.word();
  for (char digit : format)
    if (digit != '0' && digit != '1')
      fail(path, lines.number(), "format '" + std::string(format) + "' is not of digits 0 and 1");
  if (format.size() > 3) fail(path, lines.number(), "format '" + std::string(format) + "' has more than three digits");
  if (format.size() == 3 && format[0] == '1')
    fail(path, lines.number(),
         "format '" + std::string(format) + "': vertex numbers (Chaco) or sizes (METIS) are not read");
  header.edge_weights = !format.empty() && format.back() == '1';
  header.vertex_weights = format.size() > 1 && format[format.size() - 2] == '1';
  const std::string_view constraints = lines.word();
  if (!constraints.empty() && constraints != "0" && constraints != "1")
    fail(path, lines.number(), "more than one weight a vertex is not read");
  // A vertex takes a line end, a neighbour two bytes, and there are two neighbours an edge.
  const auto size = static_cast<std::int64_t>(bytes);
  if (header.vertices > size || header.edges > size / 4 + 1)
    fail(path, lines.number(),
         "announces " + std::to_string(header.vertices) + " vertices and " + std::to_string(header.edges) +
             " edges, more than a file of " + std::to_string(size) + " bytes can hold");
  if (std::max(header.vertices, 2 * header.edges) >= std::numeric_limits<std::int32_t>::max())
    fail(path, lines.number(), "more vertices or edges than 32 bits hold");
  return header;
}

/// The line of a vertex (0-based). A vertex without neighbours has an empty line, so only comments are passed over.
std::int64_t line_of(const std::string& text, std::int64_t vertex) {
  Lines lines(text);
  lines.next_content();
  for (std::int64_t v = -1; lines.next();) {
    const std::string_view first = lines.word();
    if (!first.starts_with('%') && ++v == vertex) return lines.number();
  }
  return lines.number();
}

/// Checks line by line what Scotch 7.0.3 takes on trust or reports without a place: its reader reserves whatever the
/// header announces, writes past its array of neighbours where the lines name one more than announced
/// (graph_io_chac.c tests with > where >= is meant), and does not look at what follows the last vertex.
Header check_lines(const std::string& path, const std::string& text) {
  Lines lines(text);
  const Header header = read_header(lines, path, text.size());
  std::int64_t vertex = 0;
  std::int64_t neighbours = 0;
  while (lines.next()) {
    std::string_view word = lines.word();
    if (word.starts_with('%')) continue;
    if (vertex == header.vertices) {
      if (word.empty()) continue;
      fail(path, lines.number(), "goes on after the last of " + std::to_string(header.vertices) + " vertices");
    }
    ++vertex;
    std::int64_t position = header.vertex_weights ? -1 : 0;
    for (; !word.empty(); word = lines.word(), ++position) {
      std::int64_t number = 0;
      if (!parse_number(word, number)) fail(path, lines.number(), "'" + std::string(word) + "' is not a whole number");
      if (position < 0 || (header.edge_weights && position % 2 == 1)) {
        if (number < 1 || number > std::numeric_limits<std::int32_t>::max())
          fail(path, lines.number(), "the weight " + std::to_string(number) + " is not between 1 and 2^31 - 1");
        continue;
      }
      ++neighbours;
      if (number < 1 || number > header.vertices)
        fail(path, lines.number(),
             "vertex " + std::to_string(vertex) + " has the neighbour " + std::to_string(number) + ", outside 1 to " +
                 std::to_string(header.vertices));
      if (neighbours > 2 * header.edges)
        fail(path, lines.number(),
             "more neighbours than the two for each of " + std::to_string(header.edges) + " edges announced");
    }
    if (position < 0 || (header.edge_weights && position % 2 == 1))
      fail(path, lines.number(), "the line of vertex " + std::to_string(vertex) + " ends where a weight is expected");
  }
  // The empty line of a last vertex without neighbours may lack its line end.
  if (vertex < header.vertices - 1 || (vertex < header.vertices && header.vertex_weights))
    fail(path, lines.number(),
         "ends after " + std::to_string(vertex) + " of " + std::to_string(header.vertices) + " vertices");
  if (neighbours != 2 * header.edges)
    fail(path, lines.number(),
         "ends after " + std::to_string(neighbours) + " neighbours, two for each of " + std::to_string(header.edges) +
             " edges were announced");
  return header;
}

struct ScotchGraph {
  SCOTCH_Graph graph;

  ScotchGraph() { require(SCOTCH_graphInit(&graph) == 0, ErrorKind::internal, "SCOTCH_graphInit failed"); }
  ScotchGraph(const ScotchGraph&) = delete;
  ScotchGraph& operator=(const ScotchGraph&) = delete;
  ~ScotchGraph() { SCOTCH_graphExit(&graph); }
};

}  // namespace

Csr read_graph(const std::string& path) {
  return graph_from_text(read_file(path), path);
}

Csr graph_from_text(std::string text, const std::string& path) {
  const Header header = check_lines(path, text);

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(fmemopen(text.data(), text.size(), "r"), &std::fclose);
  if (!file) fail(path, 0, "cannot be read from memory");
  ScotchGraph graph;
  if (SCOTCH_graphGeomLoadChac(&graph.graph, nullptr, file.get(), nullptr, nullptr) != 0)
    fail(path, 0, "Scotch does not read it as a graph");

  SCOTCH_Num base = 0;
  SCOTCH_Num vertices = 0;
  SCOTCH_Num arcs = 0;
  SCOTCH_Num* begin = nullptr;
  SCOTCH_Num* end = nullptr;
  SCOTCH_Num* neighbour = nullptr;
  SCOTCH_graphData(&graph.graph, &base, &vertices, &begin, &end, nullptr, nullptr, &arcs, &neighbour, nullptr);

  std::vector<Entry> entries;
  for (SCOTCH_Num v = 0; v < vertices; ++v) {
    for (SCOTCH_Num k = begin[v] - base; k < end[v] - base; ++k) entries.push_back({v, neighbour[k] - base, -1.0});
    entries.push_back({v, v, static_cast<double>(end[v] - begin[v]) + 1.0});
  }
  LANEWAY_ASSERT(static_cast<std::int64_t>(entries.size()) == header.vertices + 2 * header.edges);
  for (const Entry& entry : entries)
    if (entry.row == entry.column && entry.value < 0)
      fail(path, line_of(text, entry.row), "vertex " + std::to_string(entry.row + 1) + " is its own neighbour");

  const Csr result = assemble(vertices, vertices, entries);
  const Csr mirror = transpose(result);
  for (std::int64_t v = 0; v < result.rows; ++v) {
    for (std::int64_t k = result.row_begin[v]; k < result.row_begin[v + 1]; ++k)
      if (result.column[k] != v && result.value[k] != -1.0)
        fail(path, line_of(text, v),
             "vertex " + std::to_string(v + 1) + " lists its neighbour " + std::to_string(result.column[k] + 1) +
                 " more than once");
    for (std::int64_t k = mirror.row_begin[v]; k < mirror.row_begin[v + 1]; ++k) {
      const auto row = result.column.begin();
      if (!std::binary_search(row + result.row_begin[v], row + result.row_begin[v + 1], mirror.column[k]))
        fail(path, line_of(text, v),
             "vertex " + std::to_string(v + 1) + " does not list " + std::to_string(mirror.column[k] + 1) +
                 ", of which it is a neighbour");
    }
  }
  return result;
}

}  // namespace laneway::matrix
