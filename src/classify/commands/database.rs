//! Database clients: statements that delete are Destructive, statements from files or standard input are opaque.

use crate::classify::hatch::database;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["psql", "pgcli", "usql"])
        .classes(&[Network])
        .lenient()
        .switches("1aAbeEHlnNqsStwWxXzZ0")
        .longs(&[
            "no-psqlrc",
            "tuples-only",
            "no-align",
            "csv",
            "html",
            "quiet",
            "single-transaction",
            "list",
            "echo-all",
            "echo-queries",
            "no-password",
            "password",
            "expanded",
            "no-readline",
        ])
        .values("dFhpPRTUv")
        .long_values(&[
            "dbname",
            "field-separator",
            "host",
            "port",
            "pset",
            "record-separator",
            "table-attr",
            "username",
            "set",
            "variable",
        ])
        .options(&[
            opt("c", "command").role(Role::Sql),
            opt("f", "file").role(Role::Read).opaque(Cause::ScriptFile),
            opt("o", "output").role(Role::Write),
            opt("L", "log-file").role(Role::Write),
            opt("V", "").info(),
            opt("?", "").info(),
        ])
        .hatch(database::psql),
    command(&["mysql", "mariadb", "mycli", "mysqlsh"])
        .classes(&[Network])
        .lenient()
        .switches("ABbCEfGHiIjLNnoqrsStTUVvwWXp")
        .values("DhPuS")
        .long_values(&[
            "database",
            "host",
            "port",
            "user",
            "socket",
            "default-character-set",
            "protocol",
            "delimiter",
        ])
        .options(&[
            opt("e", "execute").role(Role::Sql),
            opt("p", "password").attached(),
            opt("", "init-command").role(Role::Sql),
            opt("", "tee").role(Role::Write),
            opt("", "pager").value().opaque(Cause::ExecOption),
            opt("", "defaults-file").value().opaque(Cause::Configuration),
            opt("", "defaults-extra-file").value().opaque(Cause::Configuration),
            opt("", "plugin-dir").value().opaque(Cause::ExecOption),
            // The plugin's name is a path below the plugin directory: `../../x` leaves it.
            opt("", "default-auth").value().opaque(Cause::ExecOption).except(&[
                "mysql_native_password",
                "caching_sha2_password",
                "sha256_password",
                "mysql_clear_password",
            ]),
            opt("", "file").value().opaque(Cause::ScriptFile),
            opt("V", "").info(),
            opt("?", "").info(),
        ])
        .hatch(database::mysql),
    command(&["sqlite3", "sqlite", "litecli", "duckdb", "sqlcipher", "rqlite"])
        .lenient()
        .single()
        .options(&[
            opt("", "cmd").value(),
            opt("", "init").value().opaque(Cause::ScriptFile),
            opt("", "c").value(),
            opt("", "s").value(),
            opt("", "f").value().opaque(Cause::ScriptFile),
            opt("", "readonly"),
            opt("", "separator").value(),
            opt("", "newline").value(),
            opt("", "nullvalue").value(),
            opt("", "mmap").value(),
            opt("", "vfs").value(),
            opt("", "maxsize").value(),
            opt("", "pagecache").two(),
            opt("", "lookaside").two(),
        ])
        .hatch(database::sqlite),
    command(&["redis-cli", "valkey-cli", "keydb-cli"])
        .classes(&[Network])
        .lenient()
        .posix()
        .values("hpsanridDuXt")
        .long_values(&["user", "pass", "cacert", "cert", "key", "sni", "pattern", "count"])
        .options(&[
            opt("", "eval").value().opaque(Cause::Interpreter),
            opt("", "rdb").role(Role::Write),
            opt("", "functions-rdb").role(Role::Write),
            opt("", "pipe").opaque(Cause::StdinCode),
            opt("v", "").info(),
        ])
        .hatch(database::redis),
    command(&["mongosh", "mongo"])
        .classes(&[Network])
        .opaque(Cause::Interpreter)
        .lenient()
        .values("upf")
        .long_values(&["host", "port", "username", "password", "authenticationDatabase", "file"])
        .options(&[opt("", "eval").value()])
        .hatch(database::mongo),
    command(&[
        "pg_dump",
        "pg_dumpall",
        "pg_basebackup",
        "mysqldump",
        "mariadb-dump",
        "mongodump",
        "mongoexport",
        "mydumper",
        "pg_receivewal",
    ])
    .classes(&[Network])
    .lenient()
    .values("dhpUnNtTZjEFSu")
    .long_values(&[
        "host",
        "port",
        "username",
        "dbname",
        "table",
        "schema",
        "db",
        "collection",
        "uri",
        "query",
    ])
    .options(&[
        opt("f", "file").role(Role::Write),
        opt("r", "result-file").role(Role::Write),
        opt("o", "out").role(Role::Write),
        opt("D", "pgdata").role(Role::Write),
        opt("", "archive").role(Role::Write),
        opt("", "tab").role(Role::Write),
        opt("", "defaults-file").value().opaque(Cause::Configuration),
        opt("", "defaults-extra-file").value().opaque(Cause::Configuration),
    ])
    .hatch(database::mongo_dump),
    command(&[
        "pg_restore",
        "mongorestore",
        "mongoimport",
        "mysqlimport",
        "mysqlpump",
        "myloader",
        "pgbench",
        "pg_rewind",
        "pg_upgrade",
        "vacuumdb",
        "reindexdb",
        "clusterdb",
    ])
    .classes(&[Network])
    .lenient()
    .values("dhpUnNtTjFSu")
    .options(&[
        opt("c", "clean").adds(&[Destructive]),
        opt("", "drop").adds(&[Destructive]),
        opt("f", "file").role(Role::Write),
        opt("l", "list").drops(&[Network]).adds(&[FileRead]),
    ])
    .operands(Role::Read),
    command(&[
        "createdb",
        "createuser",
        "pg_isready",
        "mysqlshow",
        "mysqlcheck",
        "mysqlslap",
        "mongostat",
        "mongotop",
        "redis-benchmark",
        "pg_activity",
    ])
    .classes(&[Network])
    .lenient(),
    command(&["dropdb", "dropuser"]).classes(&[Network, Destructive]).lenient(),
    command(&["mysqladmin", "mariadb-admin"])
        .classes(&[Network])
        .lenient()
        .values("uhPS")
        .options(&[opt("p", "").attached()])
        .hatch(database::drop_verb),
    command(&[
        "cqlsh",
        "clickhouse-client",
        "clickhouse",
        "influx",
        "influxd",
        "sqlcmd",
        "sqlplus",
        "sqlldr",
        "cockroach",
        "neo4j",
        "cypher-shell",
        "arangosh",
        "dbmate",
        "flyway",
        "liquibase",
        "sqitch",
        "sqlx",
        "diesel",
        "memcached-tool",
        "rabbitmqctl",
        "rabbitmqadmin",
        "kafka-topics",
        "kafka-console-producer",
        "kafka-console-consumer",
        "kafkacat",
        "kcat",
        "nats",
        "mosquitto_pub",
        "mosquitto_sub",
        "logstash",
        "filebeat",
    ])
    .classes(&[Network])
    .lenient()
    .options(&[
        opt("e", "execute").role(Role::Sql),
        opt("q", "query").role(Role::Sql),
        opt("Q", "").role(Role::Sql),
        opt("i", "").value().opaque(Cause::ScriptFile),
        opt("f", "file").value().opaque(Cause::ScriptFile),
        opt("o", "output").role(Role::Write),
    ])
    .hatch(database::other),
    command(&[
        "initdb",
        "pg_ctl",
        "pg_ctlcluster",
        "pg_createcluster",
        "pg_lsclusters",
        "postgres",
        "mysqld",
        "mysqld_safe",
        "mysql_install_db",
        "mariadbd",
        "mongod",
        "mongos",
        "redis-server",
        "valkey-server",
        "memcached",
        "etcd",
        "rabbitmq-server",
        "zookeeper-server-start",
        "kafka-server-start",
        "minio",
        "elasticsearch",
        "opensearch",
        "meilisearch",
        "solr",
    ])
    .classes(&[Network])
    .opaque(Cause::Configuration)
    .lenient(),
    command(&["pg_dropcluster", "pg_resetwal", "pg_archivecleanup"]).classes(&[Destructive]).lenient(),
    command(&[
        "db_dump",
        "db_load",
        "mdb-export",
        "mdb-tables",
        "mdb-schema",
        "ogr2ogr",
        "ogrinfo",
        "gdalinfo",
        "gdal_translate",
        "gdalwarp",
        "h5dump",
        "h5ls",
        "ncdump",
        "parquet-tools",
    ])
    .classes(&[FileRead])
    .lenient()
    .hatch(database::converter),
    command(&["db_recover", "db_upgrade", "myisamchk", "innochecksum", "sqldiff", "sqlite3_analyzer"])
        .classes(&[FileModify, FileRead])
        .lenient()
        .options(&[opt("", "table").value(), opt("h", "").chdir(), opt("w", "").adds(&[FileWrite])]),
];
