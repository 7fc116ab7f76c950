SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
CREATE FUNCTION public.crashhook_facet_added() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF new.kind = 4 THEN UPDATE groups SET machines = machines + 1 WHERE number = new.group_number; ELSE INSERT INTO words(kind, value) VALUES(new.kind, new.value) ON CONFLICT DO NOTHING; END IF; RETURN NULL; END $$;
CREATE FUNCTION public.crashhook_machine_removed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN UPDATE groups SET machines = machines - 1 WHERE number = old.group_number; RETURN NULL; END $$;
CREATE FUNCTION public.crashhook_session_added() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO start_sums(project, day, release, part, begun, ended, crashed) SELECT p.project, new.day, new.release, pg_backend_pid(), 0, 0, 1 FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1 ON CONFLICT(project, day, release, part) DO UPDATE SET begun = start_sums.begun + excluded.begun, ended = start_sums.ended + excluded.ended, crashed = start_sums.crashed + excluded.crashed; RETURN NULL; END $$;
CREATE FUNCTION public.crashhook_starts_added() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO start_sums(project, day, release, part, begun, ended, crashed) SELECT p.project, new.day, new.release, pg_backend_pid(), new.begun, new.ended, 0 FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1 ON CONFLICT(project, day, release, part) DO UPDATE SET begun = start_sums.begun + excluded.begun, ended = start_sums.ended + excluded.ended, crashed = start_sums.crashed + excluded.crashed; INSERT INTO start_hosts(project, release, hostname, begun, ended) SELECT p.project, new.release, new.hostname, new.begun, new.ended FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1 ON CONFLICT(project, release, hostname) DO UPDATE SET begun = start_hosts.begun + excluded.begun, ended = start_hosts.ended + excluded.ended; RETURN NULL; END $$;
CREATE FUNCTION public.crashhook_starts_grown() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO start_sums(project, day, release, part, begun, ended, crashed) SELECT p.project, new.day, new.release, pg_backend_pid(), new.begun - old.begun, new.ended - old.ended, 0 FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1 ON CONFLICT(project, day, release, part) DO UPDATE SET begun = start_sums.begun + excluded.begun, ended = start_sums.ended + excluded.ended, crashed = start_sums.crashed + excluded.crashed; INSERT INTO start_hosts(project, release, hostname, begun, ended) SELECT p.project, new.release, new.hostname, new.begun - old.begun, new.ended - old.ended FROM (SELECT '' AS project UNION SELECT new.project) p WHERE 1 = 1 ON CONFLICT(project, release, hostname) DO UPDATE SET begun = start_hosts.begun + excluded.begun, ended = start_hosts.ended + excluded.ended; RETURN NULL; END $$;
CREATE FUNCTION public.crashhook_starts_removed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN UPDATE start_hosts SET begun = begun - old.begun, ended = ended - old.ended WHERE project IN ('', old.project) AND release = old.release AND hostname = old.hostname; DELETE FROM start_hosts WHERE project IN ('', old.project) AND release = old.release AND hostname = old.hostname AND begun <= 0 AND ended <= 0; RETURN NULL; END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.alert_sends (
    receiver text NOT NULL,
    alert bigint NOT NULL,
    due bigint NOT NULL,
    tries bigint NOT NULL,
    error text NOT NULL
);
CREATE TABLE public.alerts (
    number bigint NOT NULL,
    id text NOT NULL,
    once text NOT NULL,
    kind text NOT NULL,
    group_id text NOT NULL,
    report bigint NOT NULL,
    title text NOT NULL,
    detail text NOT NULL,
    body text NOT NULL,
    "time" bigint NOT NULL,
    spread bigint DEFAULT 0 NOT NULL
);
ALTER TABLE public.alerts ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.alerts_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.asked_builds (
    build text NOT NULL,
    "time" bigint NOT NULL
);
CREATE TABLE public.audit (
    number bigint NOT NULL,
    "time" bigint NOT NULL,
    who text NOT NULL,
    project text NOT NULL,
    what text NOT NULL,
    detail text NOT NULL
);
ALTER TABLE public.audit ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.bodies (
    report bigint NOT NULL,
    received bigint NOT NULL,
    encoding bigint NOT NULL,
    bytes bytea NOT NULL,
    segment bigint DEFAULT 0 NOT NULL,
    start bigint DEFAULT 0 NOT NULL,
    length bigint DEFAULT 0 NOT NULL
)
PARTITION BY RANGE (received);
ALTER TABLE ONLY public.bodies ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE public.bodies_2969 (
    report bigint NOT NULL,
    received bigint NOT NULL,
    encoding bigint NOT NULL,
    bytes bytea NOT NULL,
    segment bigint DEFAULT 0 NOT NULL,
    start bigint DEFAULT 0 NOT NULL,
    length bigint DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY public.bodies_2969 ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE public.bodies_2970 (
    report bigint NOT NULL,
    received bigint NOT NULL,
    encoding bigint NOT NULL,
    bytes bytea NOT NULL,
    segment bigint DEFAULT 0 NOT NULL,
    start bigint DEFAULT 0 NOT NULL,
    length bigint DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY public.bodies_2970 ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE public.crashhook_layout (
    version bigint NOT NULL,
    oldest bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.facets (
    number bigint NOT NULL,
    group_number bigint NOT NULL,
    kind bigint NOT NULL,
    value text NOT NULL,
    count bigint NOT NULL,
    last_seen bigint NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE public.facets ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.facets_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.group_days (
    group_number bigint NOT NULL,
    day bigint NOT NULL,
    count bigint NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.groups (
    number bigint NOT NULL,
    fingerprint text NOT NULL,
    title text NOT NULL,
    summary text NOT NULL,
    signal bigint NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    count bigint NOT NULL,
    first_seen bigint NOT NULL,
    last_seen bigint NOT NULL,
    kept bigint DEFAULT 0 NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    assignee text DEFAULT ''::text NOT NULL,
    status_time bigint DEFAULT 0 NOT NULL,
    status_release text DEFAULT ''::text NOT NULL,
    machines bigint DEFAULT 0 NOT NULL,
    first_release text DEFAULT ''::text NOT NULL,
    stack text DEFAULT ''::text NOT NULL,
    resolved_in text DEFAULT ''::text NOT NULL,
    until_count bigint DEFAULT 0 NOT NULL,
    until_machines bigint DEFAULT 0 NOT NULL,
    until_time bigint DEFAULT 0 NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    project text DEFAULT ''::text NOT NULL,
    swept bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE public.groups ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.groups_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.held_back (
    fingerprint text NOT NULL,
    id text NOT NULL,
    count bigint NOT NULL,
    received bigint NOT NULL
);
CREATE TABLE public.history (
    number bigint NOT NULL,
    group_id text NOT NULL,
    "time" bigint NOT NULL,
    kind text NOT NULL,
    other text NOT NULL,
    detail text NOT NULL,
    count bigint NOT NULL
);
ALTER TABLE public.history ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.history_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.jobs (
    report bigint NOT NULL,
    rank bigint NOT NULL,
    queued bigint NOT NULL,
    until bigint NOT NULL,
    tries bigint NOT NULL,
    turn bigint NOT NULL
);
CREATE TABLE public.keys (
    fingerprint text NOT NULL,
    target text NOT NULL,
    "time" bigint NOT NULL
);
CREATE TABLE public.logins (
    id text NOT NULL,
    token text NOT NULL,
    name text NOT NULL,
    address text NOT NULL,
    created bigint NOT NULL,
    seen bigint NOT NULL
);
CREATE TABLE public.marks (
    report bigint NOT NULL,
    list text NOT NULL
);
CREATE TABLE public.merged (
    fingerprint text NOT NULL,
    target text NOT NULL
);
CREATE TABLE public.moves (
    number bigint NOT NULL,
    source bigint NOT NULL,
    target bigint NOT NULL,
    fingerprint text NOT NULL,
    "time" bigint NOT NULL,
    last bigint NOT NULL
);
ALTER TABLE public.moves ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.moves_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.nameless (
    build text NOT NULL,
    report bigint NOT NULL
);
CREATE TABLE public.object_parts (
    name text NOT NULL,
    part bigint NOT NULL,
    bytes bytea NOT NULL,
    added bigint NOT NULL
);
CREATE TABLE public.object_place (
    one bigint NOT NULL,
    id text NOT NULL,
    owner text NOT NULL,
    until bigint NOT NULL
);
CREATE TABLE public.places (
    build text NOT NULL,
    place text NOT NULL,
    frames text NOT NULL
);
CREATE TABLE public.reports (
    number bigint NOT NULL,
    id text NOT NULL,
    revision bigint NOT NULL,
    group_number bigint NOT NULL,
    "time" bigint NOT NULL,
    received bigint NOT NULL,
    signal bigint NOT NULL,
    signal_name text NOT NULL,
    title text NOT NULL,
    summary text NOT NULL,
    release text NOT NULL,
    environment text NOT NULL,
    executable text NOT NULL,
    hostname text NOT NULL,
    fingerprint text NOT NULL,
    fingerprint1 text DEFAULT ''::text NOT NULL,
    sender text DEFAULT ''::text NOT NULL
);
ALTER TABLE public.reports ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.reports_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.segments (
    number bigint NOT NULL,
    name text NOT NULL,
    week bigint NOT NULL,
    size bigint NOT NULL,
    sum text NOT NULL,
    made bigint NOT NULL
);
ALTER TABLE public.segments ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.segments_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sessions (
    project text NOT NULL,
    session text NOT NULL,
    release text NOT NULL,
    hostname text NOT NULL,
    day bigint NOT NULL
);
CREATE TABLE public.start_batches (
    project text NOT NULL,
    id text NOT NULL,
    day bigint NOT NULL
);
CREATE TABLE public.start_days (
    project text NOT NULL,
    release text NOT NULL,
    hostname text NOT NULL,
    day bigint NOT NULL,
    begun bigint NOT NULL,
    ended bigint NOT NULL
);
CREATE TABLE public.start_hosts (
    project text NOT NULL,
    release text NOT NULL,
    hostname text NOT NULL,
    begun bigint NOT NULL,
    ended bigint NOT NULL
);
CREATE TABLE public.start_sums (
    project text NOT NULL,
    day bigint NOT NULL,
    release text NOT NULL,
    part bigint NOT NULL,
    begun bigint NOT NULL,
    ended bigint NOT NULL,
    crashed bigint NOT NULL
);
CREATE TABLE public.symbol_files (
    key text NOT NULL,
    name text NOT NULL,
    size bigint NOT NULL,
    kept bigint NOT NULL,
    project text NOT NULL,
    release text NOT NULL,
    added bigint NOT NULL,
    used bigint NOT NULL
);
CREATE TABLE public.symbols (
    build text NOT NULL,
    "time" bigint NOT NULL,
    project text DEFAULT ''::text NOT NULL,
    sender text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.tags (
    report bigint NOT NULL,
    key text NOT NULL,
    value text NOT NULL
);
CREATE TABLE public.words (
    number bigint NOT NULL,
    kind bigint NOT NULL,
    value text NOT NULL
);
ALTER TABLE public.words ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.words_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY public.bodies ATTACH PARTITION public.bodies_2969 FOR VALUES FROM ('1795651200000') TO ('1796256000000');
ALTER TABLE ONLY public.bodies ATTACH PARTITION public.bodies_2970 FOR VALUES FROM ('1796256000000') TO ('1796860800000');
INSERT INTO public.alerts OVERRIDING SYSTEM VALUE VALUES (1, '01a21a47-4d74-7282-a55b-bd1ff89e6d69', 'new 1', 'new', 'abdcc087d21b2e44ed1b03d34ec91cf2', 1, 'null pointer in ledger::post · ledgerd-1.0 1.0', '', '', 1795737210228, 0);
INSERT INTO public.alerts OVERRIDING SYSTEM VALUE VALUES (2, '01a21a47-4da1-73da-9890-7819f9113b3e', 'new 3', 'new', 'd962b5ef1914c32f7f7632fbdcf73274', 3, 'assertion "token != nullptr" in gw::authorize · ledgerd 1.0', '', '', 1795737210273, 0);
INSERT INTO public.alerts OVERRIDING SYSTEM VALUE VALUES (3, '01a21a47-4da3-7c87-8590-5d6dbef4c049', 'new 4', 'new', 'f1f3fc4092cf0eadb5f31545e6798f37', 4, 'assertion "size <= 16" in gw::authorize · ledgerd 1.0', '', '', 1795737210275, 0);
INSERT INTO public.alerts OVERRIDING SYSTEM VALUE VALUES (4, '01a21a47-4db3-7206-b2fc-1e469d7cc9d0', 'new 5', 'new', '220a7d116660cfae878c7f7a129818bd', 5, 'null pointer in cache_evict · ledgerd 1.0', '', '', 1795737210291, 0);
INSERT INTO public.alerts OVERRIDING SYSTEM VALUE VALUES (5, '01a21a47-4db4-71b4-9b12-f9859a1a00b2', 'new 6', 'new', 'cfb465e1b02dd185d62b80e8afc0c191', 6, 'null pointer in cache_drop · ledgerd 1.0', '', '', 1795737210292, 0);
INSERT INTO public.alerts OVERRIDING SYSTEM VALUE VALUES (6, '01a21a47-4dd7-7e67-bf73-7bf35e0eb71c', 'new 8', 'new', 'c59efa9fd8fbf8aeafb89a09e41e6112', 8, 'null pointer in parse_value · ledgerd 1.0', '', '', 1795737210327, 0);
INSERT INTO public.alerts OVERRIDING SYSTEM VALUE VALUES (7, '01a21a47-4dd8-7fd1-baed-71820fe76ea1', 'new 9', 'new', '2bce1e8b0c4c382245ecbd878b63d5e8', 9, 'null pointer in read_config · ledgerd 1.0', '', '', 1795737210328, 0);
INSERT INTO public.alerts OVERRIDING SYSTEM VALUE VALUES (8, '01a21a47-4df8-7a20-972f-68f8d59abea7', 'new 10', 'new', 'a4312c81aeff7850eaf50d0a56056a22', 10, 'null pointer in worker_loop · ledgerd 1.0', '', '', 1795737210360, 0);
INSERT INTO public.alerts OVERRIDING SYSTEM VALUE VALUES (9, '01a21a47-4e0f-7a11-9346-e3781c5e9c81', 'new 15', 'new', 'b111b111', 15, 'null pointer in billing (0.cpp) · ledgerd 1.0', '', '', 1795737210383, 0);
INSERT INTO public.bodies_2969 VALUES (1, 1795737210211, 1, '\x1f8b0800000000000203ad956d4fdb3010c7bf0acaeba5b59390b448bc401a42bc9834c1b4179b5074f1436b913891eda022c4779fcf49fa009421b68a4ac677fff3fdee4ed7a7c8b2b568203a3b899801bb5eb7edfdcc88ae356e4ea32f2791e2682314120a5911673c4fe282101a2f082131d97d82b7110fcaaa567b0df5ff3ad508942724c9634a63427f507246fc1f9d79c92f948467bdd35364d54a438d52d46a18b4b7d757b797573f836bcbc518198fe5d6c5dbcb6f17df2f6f6ed0cdad8d004c3ba30929fcc5bdd28142f7751d736184f45fcd043adbbe69c03ca2f9da9d8464044703706e84b5817e4317d1b3bfeb4ccb86bba7a80b95c15cc446b0de41558764e66de7e6b5e02b61e695d2e391c79e38c458b7d68500789808a0b17128601b1efc2a2a053a6461181627da2cf232cf4200236a0136c8302626a01f946975233446c62c79cf1cb601ab01ab216123564367f0b5106928145a7f3ff95eed976c4a4ce995b02e4e43a91cb87079b3ed9b408d33bdf01715b07b678089f01aab24ba5e5c9c9f0f29f2e08b87b895b18fc5eed1208d7f694c61ea53c75e35e0f494272c0342fdd8042ad38732fa41d04e6c5c18d50656f83899ce652ba5156e6ce1a894bd1e6ae36f87de9c9d75d8933ddb4e88b1a41a3a6b0d9b9319eb3a74ad950eb348c230d67d33cdbcd2a349426db12ef6d13ad14c17beee3b5003ef80662f40a5fa0864f60ab201a53f06475fc2d1ff0c57c8d42f923c29920cde83a36fc26d65fb746559ab8a957e9e8c2b19d475799c3734eb3802cef187095272fa198251769400932f55d3d56f139cfe33c0345f494a3f315f93ea20ff90f9918ae71f189abbe7e7bbe9b571134ceb677f79e2fe05b7fedb8ec54dd4ab9a97c32f572e29e7a4a8964ce4407822936ac148b590194b21119413b6ac165004ddb856775522e3d2f05bcb439561d3ec3b2cd9e8b0065bdab0cbf6fbb0c5f00d9ed976961f40f4d6ccbd653eecf6d817a9dfc42bddcf0fdcf76164c2139eb354e6b004909e22151967554a40244b5eb082e790cbe410669cd9e3308343b1c8df82997af407785587402b080000', 0, 0, 0);
INSERT INTO public.bodies_2969 VALUES (2, 1795737210237, 1, '\x1f8b0800000000000203ad956d6bdb3010c7bf4af1eb399114d74e0a7d5158297d3118edd88b8d62ce7a48446dd948724929fdeed3c9769a3ea42bdd4203aaeefea7fbdd1d9787c4f18d6c2039394ab805b7d9b4ededcccaaeb57e4e932f4789166823141885ac483351f0b42084a54b42484a9e3e0cbdadbcd34eb7266868f8d7eb46a29c1196a794a684fea0e484843f360b925f2889cf06a787c4e9b5811aa5a8353068af2f2faecf2f7e46d756c831321ecb9d4bb097dfcebe9f5f5da19bdf58099876461929c2c5ad3691c2f4759d0a69a50a5fc3253abbbe69c0dea3f9d21fc564a440030861a573917e4b97c963b8eb6ccb87bb87a48b95c15ce456f2de4355c764e66de7e7b5146b69e79536e351a47446638c4deb7c0c808789001a97c672b7f1c1afb2d260621696637192ed322ff32c06b0b296e0a20c636202e64edbd634d26064cc52f4dc631bb01ab01e12b6723d74065f8b918642a1f5f743e8d57ec9a6c4b4594be7d3452c95071f2faf767d93a8f1b697e1a2027eeb2d70195fe39542d7b3b3d3d32145117df190b62a0db1f82d1a940d2f8d294c7deaf8ab061c1f0bc63320348c4da4b27d2c631804e3e5d6c7516d608d8f93e95cb64a39e9c7168e4ad59ba136e176e8cdc949873dd9b33d093196d243679de57332e35d87aeb5367116491cc6ba6fa699d7663429a81dd6c5dd3b2f9be922d4fd09d4c23ba0d90b50a53f0299bd826c409b8fc1d19770f43fc3156a111649ce0a96c17b70f44db89d6c9fae2c6b5df132cc93f52587ba2e0ff3c6661d46c039fe30c1821c7f8660941d24c0e44bdd74f5db04c7ff0c30cd175bd04fccd7a47a967fccfc40c5f30f0ccdcde3e3cdf4dab809a6f5b3bf3c71ff82dffc6dc7e226ea752dcae1972b57540852542b2e73208229562d39a9962ae30b60920ac257d5128aa81bd7ea5395c8b834c2d60a5065dc34fb0e2b3e3a6cc0952eeeb2fd3eec30428367ae9de5cf207a67e7c1321f767b1a8ad46fd3b5e9e7cfdcf76114134ce47ca1725801a840b19099e0d5828064abf0d35c881c72c59ec38c337b1866702896f95b30538ffe008435aa4e2b080000', 0, 0, 0);
INSERT INTO public.bodies_2969 VALUES (3, 1795737210272, 1, '\x1f8b0800000000000203ad564d6fdb3810fd2baa2ebd543629c9926d20872c0a14c1f6d4cd698b423be2874d58a20492eaba1be4bf2f8792627b1b174136860ff470def0bdf920fd105bb6172dc4db286606ec7edf758785117d67dc92c61fa25871dc2314520a7999e41c48521292256b4248424e9f0cbd8df8aeaceab4c750ffd3a956203c256991509a107a4fc996f86fb6f0903f11128ef54e0fb1553b0d8d5f16deac6184fe71f7e9f6b72ff7c1b3e3620a8ccbeae452ddff7ef7f933fab8bd118094739a92d21b0e4a070560ad300ea979a31dda16cc0fb4dfb92830101c375a612dec425418dc7ec1d83627db08d79d51ff886d743bc789fe72dd41e8e8dd4da487a6e99d791f49508de08bf8d187ea4dc77cb4a0ac0f5944e2e228d8e0a06ec219cbae774b8fd809b3ac959e963ce0f79d75018c8b592ab4360965e93070fc51d40a8222300c93181fd74555e42180118d001b607441d049e8efca74ba151a2323433eb039270e76235923766305f1b410694c2aee7e7df0353d4fef4c4ce99db02e094d601db860fcf2545f81186706e10d35b08333c044388dd5125d6f6f6f6e468a3cf8e222e964e263b1036e48e34f9a28cc35ed5990ceb919131d93632933dfaa455ae4651a549921a4d1778c76e2e8424bb76389e9bcae3a29ad70638427a81cf4981ccc44ed07e2dc7882ac0886d18dd21853426351a4fd619d6827d13e8727d206ae93ce36ab4bd252bd84f0043b275c5563c357d892cf134fe9ff26be5af194e540a81fe65f1127cf129f51e7bc777f6fb74fd3f63c6f0c26d53840d6b02559b0be47d7490925e182688676be86ae8b0c8697abcc5fa532ff49650b4abf4c1cfdaf38fac6e2e6de2bd31c5ed17b33ecb2f71a55b3ca8faeef3f064d535dd74bdf6e7aca8cbc667a66d8550548be526d7f658c566f364569465fd15f33ea827f607e25e3c50b9ae6dbe3e3b7f9b4e9d29d6ffaf98dc2270edcfe57cf185ef6836a7835fe892824e59c94f5868902084f655aaf19a9d7326719a48272c236f51aca809b5eae5376c8745bf887c18ba9c2657eeeb06193c31e6c65c373719eff27fabeb00bdb2d8a0b0183354bbfb31c9fcfc4276738263b3d2c2fdccfc5c894a7bc60992c600320bd8a4ce49cd51901916e78c94a5e4021d34b3153af5e17333a94ebe23931736dfe054bda064fb6090000', 0, 0, 0);
INSERT INTO public.bodies_2969 VALUES (4, 1795737210274, 1, '\x1f8b0800000000000203ad565b6fd33014fe2b515e7821adeda4495bb187212434c113ec093485135f5a6bb954b6038569ff1d1f27595b58d13456f5c13d3edff1f79d8bddbbd8f2ad6c205e47313760b7dbaebb9d19b9eb8c9bd3f875146b817b8402a3901549268025052159b2248424e4f0c9d0dbc8efdaeaaef518ea7f3add488433c2f284d284d06b4ad6c47fb399877c414838d63bddc5566f5aa8fd32f7e61606e8e7abf7976f3f5d07cf4ec831302ecb834b79fde1eae347f4715b230129679491c21b6e751b1480b5d238a4e68db66f1a303fd17ee5a2c0400adc68a4b5b00951a177db19e7eb8cac235c7746ff92ebe8728a137db3de10bdb98868fe2a52a06b2966f1bd0fb2331df77182a65dc81f52967bc97b07551da2cfbb9d9b7bc4469a79a5db7129027edb5917c0b8984442639350900e03c7ef64a5216801c3317df17e999779160218594bb0014667049d64fb5d9bae6d648b9191a1e8f9940d079b81ac919ba176785a8834a41377bfdef96a1e277622a6db8db42e49435e1db860fcf450598918677ae90d15f05b6780cb701aaf14ba5e5e5e5c0c1445f0c545d2a9c4c7e2b7b8a18c3f69a4305573c7837421cc90e898ec0b95fa26cd599e152ca8327d48a3ef95d6c9bd0bcddc0cc5a5d3baec94b2d20d111ea0aa6f87e460262a3f0ac7c6036441304c5beb16632aa82d8ab43fad93cd28dae7f040dac079d2e96a714a5ae9a7101e61c784cb7268f5125bf271e28cfe37f1c542309e01a17e8cff459c3c4a7c421df3defc58af1fe6ec71de184ce96180ace17332e3bb1dba8e4a28095743dd37d305745e64303c5d65f62c95d95f2a1bd0edd3c4d13fc5d1171637f55ec1327846ef4db0d3deab75c54b3fbabeff38d475795e2f7db9e92952f29ce99960671520f95237bb3363b478b12962297d467f4da813fe81f9998ce74f689a9bfbfb9be9b4f1d29d6efae98dc2270edcf65fcf185ef6bdae4539fc7dc815158214d58acb1c88608a554b4eaaa5ca780a4c5241f8aa5a421170e3cb75c80e196f0bff30783165b8cc8f1d567c74d8822d6d782e8ef3ff40df177666bb597e22a0b766ee77e6c3f399f8e4f4fb64d3f6f313f763318a0926729eaa1c5600caab486526789512906c250a5e881c72c54ec58cbd7a5ecce0502cf3c7c44cb5f90daaf9fcf7b0090000', 0, 0, 0);
INSERT INTO public.bodies_2969 VALUES (6, 1795737210292, 1, '\x1f8b0800000000000203b5956d6bdb3010c7bf4af1eb399114d7760a7d5158297d3118edd88b8d62ce7a48446d3948724929fdeed3c9769b3ea4846e0b0da8bafb4bf7bbbb9c1e12c7d7b285e4e428e116dc7add75b7332b379df5739a7c394ab4401ba1c02864459a893a4b0b42f2b42484a4e4f993a3b79577dae9ce040d0dff7add4a9433c2f294d294d01f949c90f097cf82e4174ae2b5c1e921717a65a041296a0d0cdaebcb8bebf38b9fd1b513723c1997d5934bb057dfcebe9f5f5da19b5f5b091876461929c2c6ad3691c2f44d930a69a50a5fc3253abbbe6dc1dea3f9d21fc560a440030861a573917e4bcbe431ec6d6cc787bd8764133383b1c8ade4bd87ba89c1ccbb8d9f3752aca49dd7da8c4b11f5ebcef928c6c5143db42e8da9eee2655f65adc1c4082cc7c424db32aff22c1e606523c145199d117492e64edbceb4d2e0c918a1e8b9c71260266035046be56aa80ade164f1a9284d6df0fa14ebbe99a02d366259d4f17314d1e7cdcbc7aaa99448db7bd0c1b35f05b6f81cb781baf15ba9e9d9d9e0e218ae88b8bb45369388bdfa241d970d318c254a30d7f93fce363c178068486968954b68f690c4d60bcdcfad8a62dacf07232adab4e2927fd58be51a97a33e406c5103abf12b6dbec5a9e657892d2434d9de57332e39be8da6813bb90c4366cfa76ea766d469382c66156dcbdf3b29d3642d69f312d7c8099bdc254fa10c46c0f220f2d630f63a4af19e97f632c3fc558be616c419bc3e0d86b38f68fe10ab50863326705cbe02338fa2edc936c97aeaa1a5df32afc62acaf38344db59f3736e47e04fca51e4cb020c79f2118657b0930f84ab79be67d82e3bf0698fa8b2de827fa6b52bd883f46be27e3f9014d73f3f87833dd36ceba69c04e4f03be2ce0d71fbd1e38637bdd886a788f7345852045bde4320722986275c9495daa8c2f80492a085fd6251451373e18cfd921e3380cf338c0547186ee3a2cf9e8b00657b938a577f3ff147e28eccc75b3fc0540efec3c58e6c3ab9586e4f4db7465faf90bf75d18c50413395fa81c96002a502c642678bd2020d95214bc1039e48abd84197b753fcce05094f97b30536dfe005cab948e01090000', 0, 0, 0);
INSERT INTO public.bodies_2969 VALUES (7, 1795737210325, 1, '\x1f8b0800000000000203b595516be33810c7bf4af1f3399114d77616f6a1b0cbb20f0747f7b8873b1633964689a82d07495eb2947ef7d3c8769b769b25f46e4303aa66fed2fc6626a3fbcccb3df690bdbbcaa403bfdf0fc3ddcae1617061cdb3dfae32a3c8c638080e4595174a1579c55895d78cb19c3d7d2af276f8cd7833d8a8e1f1df607a24b960a2cc39cf19ff93b3772cfe55ab28f99b24e9dae8749f79b3b3d09194b41626ed97cf9fbe7cfcf457721d14ce27d3b2797489f6e6f79b3f3edede925bd83b040abbe0825571e3ced84461c7aecb153ad4f16b2592b31ffb1edc77327f0e572918546400a51c7a9fe88fbcce1ee2dec10d72dabbcf0e2933140b1e518e01da2e05b31e0e61dda1daa15bb7c6ce4b95f4fbc18724a6c512bd76900bba7148977dc0d6804d11384989c98e75d994453ac06187e0938caf1839a1fd66dc607bb4743245a84619a8049409d84dc13adc4d55a1dbd2495392c8facf7dacd369ba96c08cdda10ff926a52940489bb78f3543d2043762dc6841de050712d36db2d5e47a73f3fefd14a24abeb4c8079dc7b3e41d19622c3dce212c353ac81f927f7dad842c80f1d83289ca8d298db1096cc063486ddac38e2e67cbba19b4f618e6f2cd4a3dda29372486d8f94dec57194e4d4f3a3a4a9ba9a8dec9355bc9c3815c3b63531bb2d487ddd82fed6eec6cd2d0794a8bffee03f6cb464cfb13672cc379cee205a73697301667188df5e82e84e42f21f92f83acdf0459ff00d983b197c1899770e27f86abf4260eca5254a2809fc1f157e11e65a7744dd3995636f137e34223a1eb9af3bca923cf23d06ff562820dbb7e0bc12c3b4b40c137a63f74af135cff6780a5bfc486bfa1bf16d5b3f853e467325e5ed0345f1f1ebe2eb7cdd36e19b1cbe3406f0b84fdcfde0f9ab2a3e95433bdc8a5e64ab1aadd4a2c8129a1455b4bd6d6ba901b10c81593dbb686f42ab7f393f1941d360fc43891234c93a6e8a9c356ce0e7bf08d4f73fa34ff8fe1c7c2aefcb02a9f018cdeada3653dbd5b794cce78cc77765c3f733f85d1420955ca8d2e610ba023c5060b25db0d03145b55c94a95506af11c66eed5f33093435597afc12cb5f917e0b716a103090000', 0, 0, 0);
INSERT INTO public.bodies_2969 VALUES (8, 1795737210326, 1, '\x1f8b0800000000000203ad55516bdb3010fe2bc5cf732239aeed0cfa50d8187d188c6eec61a398b3744a446d3948724929fdefd3c9769b764d29dd4203aaee3eddf77d775cee1227b6d841f2f1241116dc76dbf7d70b8bbbdefa254f3e9c245a528c71c838e4659a4b59a42563555a31c652f6f8a928dbe28d76ba3701c3c3bf5e7748f08c6545ca79caf80fce3eb2f0572d02e4174162d990749738bd31d01294b00646ecf78b2fdf3f7ff919537b89d3cb74ac1f5242bcfe7afeedf3e525a5f9ad4520da39cf58192eaeb5892accd0b6a9448b2a7c8d404a7643d781bda5f0853f8964505200a4b4e85c54bfe755721fee76b617e3dd5db28bce1017dca3183c346d24b3ec777ed9a2dca05d36da4c4719f1dbdef908a6c3cc1e3a9746abfb58ec13361a4c6460051993ecaba22ef2f880c516c145185f304a4273a36d6f3a34f432319483f0d40272023623598b9bb12b542dbe349a44d1df77a14f8776cdc4b4d9a0f3e92adae4c1c7cbcb879e2161bc1d305c3420aebd0581b19a6814a59e9f9f9d8d1465cca543daab34bc25ae29a06ca83451987bb4137f997f7a2a339103e36164a22a3b441bc310188f7b1fc7b4830d1567f3b9ee9572e8a7f64d483598d11b2a04d6617d03ed8087a1471c3da5f4d85467c5922dc46e47a9ad36710c599cc376e8e671d7660a29681dd9e26e9dc76ebe08b63feab4f08acefc994ea5dfa231ff4b6307dabc4d1c7f2e8eff6771a55a851d52646596c36be2f88be21e6087eaeabad58da8c338595f0b68dbfab8ded8ace312688cdfac60c54edfa360821d5540e46bddedda97159cfeb38079beb2157fc77ccda827fc23f3238e176f189aabfbfbabb9dab408e6ed33ef4d5abbe0b7afad565a40836e653dfe58158a4bc9ca662db0002633953595604da572b1820cb96462dd545046dcb44d1fdd61d3ae08cb2a88a9e382394c588b29610bae7671851dfaff403f3476e1fa45f144c0e0ec324496e34a4f8339c33edd9861f924fd508cca64260bb15205ac015450b1c25c8a66c500b3b52c45290b2854f654cc34abc7c58c096555bc2466eecd1f36510fc81e080000', 0, 0, 0);
INSERT INTO public.bodies_2969 VALUES (9, 1795737210328, 1, '\x1f8b0800000000000203ad55db6ae33010fd95e2e77522398e1d17fa50d852fab0b074977dd8a598b12e89882d07492e29a5ffbe1ad9cea56d4ae86e6840d5cc199d7366983c4796ad4403d1e545c40cd8d5aa6dd7132336ad71531a7db98814c718a1905048f338e53c8f73428a78410889c9fe5360b6118fcaaa567b0cf5ff3ad508842724c9624a63427f527249fc5f31f190df0809cffaa4e7c8aaa5861aa188d5d0637fdcddfeb8b9fd15525b2e86ca782c77293e5e7ebbfe7e737f8f696e650420ed942624f7176ba5830addd575cc8511d27f3513986cbba601f384e13b7711c8088e01e0dc086b83fa2d5d442ffe6e635ad6df3d479be00c72115bc13a07551dc84cdb8d9bd6822f8599564a0f471ef0abd6ba00c6c3c81e1a1b07abdbf0d8575129d0818161684cb45d646596860246d4026c80d109c124a11f9569752334564686bc630e5b804ec0b2276bc4b2ef0abe162af52661f4cfb3efd3a15d2331a597c2ba78166c72e0c2e5fdae670231ce74c25f54c0d6ce0013e13556494cbdbebebaea29f2908b87b895b1afc5d61890c6bf3450187bb4616fcc9fcf79c25220d48f4c5065ba60a31f02edc4d685316d60898f93f15cb6525ae186f60d48d9e9de9b4bb41278e92b48b53c0ced71584aaabea9d6b02999b0cd06536ba5c31892308775d78ce3aef41092505bb4c53e59279af1c2dbbed769e0039de92b9d529da3317da3b101a5cf13475f8ba3ff595c2e677e8764499ea4f09138faaeb81dec505d59d6aa62a51f27e34a06755d9ed61b9a755a028ef1d90a6664fe190503eca402245faa6653bfaf60fecf02c6f94a66f413f335a28ef807e6271ccfce189a87979787f1b561118cdb67dc9bb876c1ad3e5aadb8803a55f3b2ffb1ca24e59ce455c14406842732a9168c540b99b219248272c28a6a0179c00ddb74ef0e1976855f565e4c1916cc6142c1868415d8d2861576e8ff8ebe6fecc4b693ec484067cdd447a6fd4a8fbd39dd365eea6e7a947e2846263ce1199bc90c0a00e955cc44ca593523209282e72ce7196432391633ccea69317d42bec8de1333f6e62f3c7b3ada1e080000', 0, 0, 0);
INSERT INTO public.bodies_2969 VALUES (13, 1795737210364, 1, '\x1f8b0800000000000203ad55516bdb3010fe2bc5cf7322d9ae9d14fa50d8187b188c6eec61a398b3744a446c3948f29651fadfa793ed36dd9a52ba05028aee3eddf77d775c6e1327b6d841727196080b6ebbedfbddc2e2beb77ec9933767899614631c320e4595165289b4624ca62bc658ca1e3e92b22dfed04ef7266078f8e9758704cf5856a69ca78c7fe1ec82b10b9e2f02e41b4162d990749b38bd31d01294b00646ece70fef3fbf7bff35a6f612a797e958dfa78478fdf1ead3bbeb6b4af35b8b40b40b9eb12a5cecb4892accd0b6a9448b2a7c8d404a7643d781fd45e10ffe2c92c12805a4b4e85c547fe0abe42edced6d2fc6bbdb641f9d212e7840317868da4866d9effdb245b941bb6cb4998e32e2b7bdf3114c87993d742ee53995ec63b5b7d86830918215e44c7258957559c4172cb6082ee2f88251129a1fdaf6a643434f134539084f3d202b6033b2b5b819db42e5e24ba34b14fd7e1b1a75ecd7cc4c9b0d3a9f466ece838f97d7f74d43c2783b60b86840ecbc0581b19a6814a55e5d5d5e8e1465cca543daab34bc2576145036549a28cc4dda8bbfdc3f3f97992880f1303351951da28f610a8cc7838f73dac1868ab3f95cf74a39f453ff26a41acce84db8fdd9db1ddabaedfbfd71e801474f293d76d559b1640bb18fa9ad36710e591cc476e8e679d7660a29681dd9e27e398fdd7c116c7fd069e1199dc51f3a957e89c6e22f8d1d68f33271fc4f71fc3f8bab541e964899555901cf89e34f8abb871dababeb5637a20ee3647d2da06debd37a63b34e4ba0317eb1829c9dbf46c1043ba980c8d7badbb74f2b38ff6701f37c65397fc57ccda847fc23f3138e972f189a9bbbbb9bb9dab408e6ed332f4edabbe0b7cfed565a40836e653dfe5b958a4bc9aa662db004263395352bc19a952a440e1972c9c4ba59411571d3367d70874dbb222cab20a68e0be638612da6842db8dac51576ecff3dfdd0d885eb17e5230183b3cb10598e2b3d0de60c87746386e5a3f463312a93992c45ae4a5803a8a022c7428a266780d95a56a29225942a7b2c669ad5d362c6846a553e2566eecd6ff202e77d1f080000', 0, 0, 0);
INSERT INTO public.bodies_2969 VALUES (14, 1795737210365, 1, '\x1f8b0800000000000203ad55516bdb3010fe2bc5cf732239ae9d14fa50d8187d188c76ec61a398b3744a446c3948729752fadfa793ed36dd9a52ba05028aee3eddf77d775cee132736d842727692080b6eb3e9baedcce2aeb37ece930f27899614631c320e7999e652c9b4640cd325632c654f1fa46c8bb7dae9ce040c0f3fbd6e91e019cb8a94f394f16f9c9d3176c6f35980fc20482c1b92ee13a7d7061a8212d6c080bdbefc7cfde9f3f798da491c5fa663f59812e2d5978baf9faeae28cd6f2c02d1ce79c6ca70b1d526aa307dd3a4122daaf0352232767ddb82bda3f0a53f8964505200a4b4e85c54bfe7cbe421dced6c2786bbfb64179d212eb847d17ba89b4866deedfcbc41b9463bafb5198f32e2379df3114c87893db42ee53995ec62b58f586b30918215e44cb25f165591c7172c36082ee2f88c51129a5b6d3bd3a2a1a789a2ec85a71e9015b01ed85a5c0f6da172f1a5c1258afebc0f8d3af46b62a6cd1a9d4f17d1270f3e5e5e3d360d09e36d8fe1a206b1f51604c66aa256947a71717e3e509431970e69a7d2f096d85240d95069a430356927fe72fff454662207c6c3cc4455b68f3e8629301ef73ece690b6b2acea673d529e5d08ffd1b91aa378337e1f65767b768aba6eb7687a1271c3da5f4d05567c59ccdc42ea636dac4396471109bbe9de65d9b31a4a071648bbb731edbe922d8fea4d3c22b3af33f742afd168df95f1a5bd0e66de2f89fe2f87f1657aa45582245566639bc268ebf28ee1176a8aeaa1a5d8b2a8c93f59580a6a98eeb8dcd3a2e81c6f8cd0a16ecf43d0a46d8510544bed2edae7959c1e93f0b98e62b5bf077ccd7847ac63f323fe278f186a1b97978b899aa8d8b60da3ed3e2a4bd0b7ef3da6ea505d4eb4656c3bf55a1b894acac57020b60325359bd14ac5eaa5c2c20432e9958d54b28236edca64feeb07157846515c45471c11c26acc498b00157b9b8c20efd7fa41f1a3b73ddac7826a077761e22f361a5a7c19c7e9fae4d3f7f967e28466532938558a80256002aa858602e45bd6080d94a96a29405142a7b2e669cd5e36286847259bc2466eacd6f81a315da1f080000', 0, 0, 0);
INSERT INTO public.bodies_2969 VALUES (15, 1795737210383, 1, '\x1f8b0800000000000203ad55516bdb3010fe2bc5cf7322398e9d14f650d8187b188c6eec616398b3744a446dd948724929fdefd3c9769bae4d29dd0201e5ee3ee9beef8e2fb789137b6c21393f4b8405b7df77ddd5c262df59bfe4c9bbb3444bca310e1987bc4c736498968ca974c3184bd9c34751b5c56bed74670286879f5eb748f08c6545ca79caf877cece193be7eb4580fc24487c3614dd264eef0c340425ac8111fbedf3a76f1f3ffd88a59dc4e9663a56f725215f7db9f8faf1f292cafcde2250db39cf58190257da441666689a54a24515be462015bba16dc1de50fab33f8bcda0a4044869d1b9c8fec037c95d88f5b61363ec36e9a332d40b1e500c1eea2636b3ec7abf6c50eed02e6b6da6a38cf87de77c04d361ee1e5a9746a9bbf8d807ac3598d88115244c72d8145591c70b2c36082ec2f88251119a6b6d3bd3a2a19ba94339084f2320256037366b71374e855e8b378d2251f6d76d98d3b15c7363daecd0f9741565f2e063f0f27e6648186f070c811ac495b72030be266a45a51717efdf8f2dca584b87b45369b84b5c5142d9f0d2d4c23ca35e3c117fbd9699c881f1b03291951da28c61098cc7838f6bdac28e1e67f3b9ea9472e8a7f14d483598519b10ad75d30486c7e1070c5da3f4385067c5922d44df536980c4156471079ba19d575d9b29a5a0712489bb711edb3910247fe068e1058ef95f1c957e0dbffc09bf16b4791d39fe3739fe9fc9956a15fca3c8ca2c8797c8f167c9ddc38ed95555a36b518555b2be12d034d569be7158a729d00abf9ac18aaddfc260829d6440cd57baed9be719acff99c0bc5fd98abf61bf66d4a3fe63e727142f5eb134bfefee7ecfaf4d26303bcfec9964b9e0f72fd92a99cfa01b598d7f5485e252b2b2de0a2c80c94c65f546b07aa372b1820cb964625b6fa08cb8c9491fd461934f04a30a64aa682ec7055b3115ecc1552edad7b1fef7ed87c12e5cb7281e11189c5d86cc72b4f33488331cd29d19968fca8fc9a84c66b2102b55c0164005162bcca5a8570c30dbca5294b28042658fc94cbb7a9acc58506e8ae7c84cb3891611fcdff6568fff2c35e79cbec9dd1f5d30b9a935080000', 0, 0, 0);
INSERT INTO public.crashhook_layout VALUES (18, 13);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'null pointer in ledger::post · ledgerd-1.0 1.0', 1, 1793527201000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (3, 1, 3, '/opt/ledger/bin/ledgerd-1.0', 1, 1793527201000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (5, 1, 5, '1.0', 1, 1793527201000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (23, 1, 1, 'null pointer in ledger::post · ledgerd-1.1 1.1', 1, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (2, 1, 2, 'It crashed', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (25, 1, 3, '/opt/ledger/bin/ledgerd-1.1', 1, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (4, 1, 4, 'ams-1', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (27, 1, 5, '1.1', 1, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (6, 1, 6, 'production', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (7, 1, 7, '11', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (8, 1, 8, 'SIGSEGV', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (9, 1, 9, 'region
ams', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (10, 1, 10, 'null-dereference', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (11, 1, 11, '__libc_start_call_main', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (12, 1, 11, '__libc_start_main_impl', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (13, 1, 11, '_start', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (14, 1, 11, 'ledger::post', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (15, 1, 11, 'main', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (16, 1, 12, 'src/0.cpp', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (17, 1, 12, 'src/1.cpp', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (18, 1, 13, '6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (19, 1, 13, 'f2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (20, 1, 23, 'ingest-#', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (21, 1, 24, 'near null', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (22, 1, 27, 'under 100 frames', 2, 1793527202000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (45, 3, 1, 'assertion "token != nullptr" in gw::authorize · ledgerd 1.0', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (46, 3, 2, 'It crashed', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (47, 3, 3, '/opt/ledger/bin/ledgerd', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (48, 3, 4, 'ams-1', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (49, 3, 5, '1.0', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (50, 3, 6, 'production', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (51, 3, 7, '6', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (52, 3, 8, 'SIGABRT', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (53, 3, 9, 'region
ams', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (54, 3, 10, 'assertion', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (55, 3, 11, '__assert_fail', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (56, 3, 11, '__libc_start_call_main', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (57, 3, 11, '__libc_start_main_impl', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (58, 3, 11, '_start', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (59, 3, 11, 'abort', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (60, 3, 11, 'gw::authorize', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (61, 3, 11, 'main', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (62, 3, 12, 'src/0.cpp', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (63, 3, 12, 'src/1.cpp', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (64, 3, 13, '6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (65, 3, 13, 'f2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (66, 3, 14, 'auth.cc:40: authorize: Assertion `token != nullptr'' failed.', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (67, 3, 23, 'ingest-#', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (68, 3, 27, 'under 100 frames', 1, 1793527203000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (69, 4, 1, 'assertion "size <= 16" in gw::authorize · ledgerd 1.0', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (70, 4, 2, 'It crashed', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (71, 4, 3, '/opt/ledger/bin/ledgerd', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (72, 4, 4, 'ams-1', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (73, 4, 5, '1.0', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (74, 4, 6, 'production', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (75, 4, 7, '6', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (76, 4, 8, 'SIGABRT', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (77, 4, 9, 'region
ams', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (78, 4, 10, 'assertion', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (79, 4, 11, '__assert_fail', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (80, 4, 11, '__libc_start_call_main', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (81, 4, 11, '__libc_start_main_impl', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (82, 4, 11, '_start', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (83, 4, 11, 'abort', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (84, 4, 11, 'gw::authorize', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (85, 4, 11, 'main', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (86, 4, 12, 'src/0.cpp', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (87, 4, 12, 'src/1.cpp', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (88, 4, 13, '6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (89, 4, 13, 'f2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (90, 4, 14, 'auth.cc:40: authorize: Assertion `size <= 16'' failed.', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (91, 4, 23, 'ingest-#', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (92, 4, 27, 'under 100 frames', 1, 1793527204000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (117, 6, 1, 'null pointer in cache_drop · ledgerd 1.0', 1, 1793527206000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (118, 6, 2, 'It crashed', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (119, 6, 3, '/opt/ledger/bin/ledgerd', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (121, 6, 5, '1.0', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (120, 6, 4, 'ams-1', 2, 1793527206000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (130, 6, 11, 'cache_clear', 1, 1793527206000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (131, 6, 11, 'cache_drop', 1, 1793527206000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (125, 6, 9, 'region
ams', 2, 1793527206000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (141, 6, 1, 'null pointer in cache_evict · ledgerd 1.0', 2, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (168, 6, 4, 'fra-2', 1, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (122, 6, 6, 'production', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (123, 6, 7, '11', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (124, 6, 8, 'SIGSEGV', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (173, 6, 9, 'region
fra', 1, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (126, 6, 10, 'null-dereference', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (127, 6, 11, '__libc_start_call_main', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (128, 6, 11, '__libc_start_main_impl', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (129, 6, 11, '_start', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (154, 6, 11, 'cache_evict', 2, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (155, 6, 11, 'cache_insert', 2, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (132, 6, 11, 'main', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (133, 6, 12, 'src/0.cpp', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (134, 6, 12, 'src/1.cpp', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (135, 6, 12, 'src/2.cpp', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (136, 6, 13, '6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (137, 6, 13, 'f2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (138, 6, 23, 'ingest-#', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (139, 6, 24, 'near null', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (140, 6, 27, 'under 100 frames', 3, 1793527207000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (211, 9, 1, 'null pointer in read_config · ledgerd 1.0', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (225, 9, 11, 'read_config', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (212, 9, 2, 'It crashed', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (213, 9, 3, '/opt/ledger/bin/ledgerd', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (214, 9, 4, 'ams-1', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (215, 9, 5, '1.0', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (216, 9, 6, 'production', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (217, 9, 7, '11', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (218, 9, 8, 'SIGSEGV', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (219, 9, 9, 'region
ams', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (220, 9, 10, 'null-dereference', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (221, 9, 11, '__libc_start_call_main', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (222, 9, 11, '__libc_start_main_impl', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (223, 9, 11, '_start', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (224, 9, 11, 'main', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (226, 9, 12, 'src/0.cpp', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (227, 9, 12, 'src/1.cpp', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (228, 9, 13, '6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (229, 9, 13, 'f2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (230, 9, 23, 'ingest-#', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (231, 9, 24, 'near null', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (232, 9, 27, 'under 100 frames', 1, 1793527209000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (255, 10, 1, 'null pointer in parse_value · ledgerd 1.0', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (256, 10, 2, 'It crashed', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (257, 10, 3, '/opt/ledger/bin/ledgerd', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (258, 10, 4, 'ams-1', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (259, 10, 5, '1.0', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (260, 10, 6, 'production', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (261, 10, 7, '11', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (262, 10, 8, 'SIGSEGV', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (263, 10, 9, 'region
ams', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (264, 10, 10, 'null-dereference', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (265, 10, 11, '__libc_start_call_main', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (266, 10, 11, '__libc_start_main_impl', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (267, 10, 11, '_start', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (268, 10, 11, 'main', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (269, 10, 11, 'parse_value', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (270, 10, 12, 'src/0.cpp', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (271, 10, 12, 'src/1.cpp', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (272, 10, 13, '6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (273, 10, 13, 'f2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (274, 10, 23, 'ingest-#', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (275, 10, 24, 'near null', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (276, 10, 27, 'under 100 frames', 1, 1793527208000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (277, 11, 1, 'null pointer in worker_loop · ledgerd 1.0', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (278, 11, 2, 'It crashed', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (279, 11, 3, '/opt/ledger/bin/ledgerd', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (368, 11, 4, 'ams-14', 1, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (281, 11, 5, '1.0', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (282, 11, 6, 'production', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (283, 11, 7, '11', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (284, 11, 8, 'SIGSEGV', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (285, 11, 9, 'region
ams', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (286, 11, 10, 'null-dereference', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (287, 11, 11, '__libc_start_call_main', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (288, 11, 11, '__libc_start_main_impl', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (289, 11, 11, '_start', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (290, 11, 11, 'main', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (291, 11, 11, 'worker_loop', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (292, 11, 12, 'src/0.cpp', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (293, 11, 12, 'src/1.cpp', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (294, 11, 13, '6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (295, 11, 13, 'f2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (296, 11, 23, 'ingest-#', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (297, 11, 24, 'near null', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (298, 11, 27, 'under 100 frames', 5, 1793527214000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (387, 16, 1, 'null pointer in billing (0.cpp) · ledgerd 1.0', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (388, 16, 2, 'It crashed', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (389, 16, 3, '/opt/ledger/bin/ledgerd', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (390, 16, 4, 'ams-1', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (391, 16, 5, '1.0', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (392, 16, 6, 'production', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (393, 16, 7, '11', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (394, 16, 8, 'SIGSEGV', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (395, 16, 9, 'region
ams', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (396, 16, 10, 'null-dereference', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (397, 16, 11, '__libc_start_call_main', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (346, 11, 4, 'ams-13', 1, 1793527213000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (398, 16, 11, '__libc_start_main_impl', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (399, 16, 11, '_start', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (400, 16, 11, 'billing', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (401, 16, 11, 'main', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (402, 16, 12, 'src/0.cpp', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (403, 16, 12, 'src/1.cpp', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (404, 16, 13, '6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (405, 16, 13, 'f2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (406, 16, 23, 'ingest-#', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (407, 16, 24, 'near null', 1, 1793527215000);
INSERT INTO public.facets OVERRIDING SYSTEM VALUE VALUES (408, 16, 27, 'under 100 frames', 1, 1793527215000);
INSERT INTO public.group_days VALUES (1, 20758, 2);
INSERT INTO public.group_days VALUES (3, 20758, 1);
INSERT INTO public.group_days VALUES (4, 20758, 1);
INSERT INTO public.group_days VALUES (6, 20758, 3);
INSERT INTO public.group_days VALUES (9, 20758, 1);
INSERT INTO public.group_days VALUES (10, 20758, 1);
INSERT INTO public.group_days VALUES (11, 20758, 5);
INSERT INTO public.group_days VALUES (16, 20758, 1);
INSERT INTO public.groups OVERRIDING SYSTEM VALUE VALUES (1, 'abdcc087d21b2e44ed1b03d34ec91cf2', 'null pointer in ledger::post · ledgerd-1.1 1.1', 'It crashed', 11, 'resolved', 2, 1793527201000, 1793527202000, 2, 'mended in 1.1', 'kim', 1795737210258, '1.1', 1, '1.0', 'ledger::post
main@1
', '', 0, 0, 0, 2, '', 0);
INSERT INTO public.groups OVERRIDING SYSTEM VALUE VALUES (3, 'd962b5ef1914c32f7f7632fbdcf73274', 'assertion "token != nullptr" in gw::authorize · ledgerd 1.0', 'It crashed', 6, 'open', 1, 1793527203000, 1793527203000, 1, '', '', 0, '', 1, '1.0', 'gw::authorize
main@1
', '', 0, 0, 0, 0, '', 0);
INSERT INTO public.groups OVERRIDING SYSTEM VALUE VALUES (4, 'f1f3fc4092cf0eadb5f31545e6798f37', 'assertion "size <= 16" in gw::authorize · ledgerd 1.0', 'It crashed', 6, 'ignored', 1, 1793527204000, 1793527204000, 1, 'a fuzzer', 'lee', 1795737210276, '', 1, '1.0', 'gw::authorize
main@1
', '', 0, 0, 0, 1, '', 0);
INSERT INTO public.groups OVERRIDING SYSTEM VALUE VALUES (10, 'c59efa9fd8fbf8aeafb89a09e41e6112', 'null pointer in parse_value · ledgerd 1.0', 'It crashed', 11, 'open', 1, 1793527208000, 1793527208000, 1, '', '', 0, '', 1, '1.0', '', '', 0, 0, 0, 0, '', 0);
INSERT INTO public.groups OVERRIDING SYSTEM VALUE VALUES (9, '2bce1e8b0c4c382245ecbd878b63d5e8', 'null pointer in read_config · ledgerd 1.0', 'It crashed', 11, 'open', 1, 1793527209000, 1793527209000, 1, 'is apart', '', 0, '', 1, '1.0', 'read_config
main@1
', '', 0, 0, 0, 1, '', 0);
INSERT INTO public.groups OVERRIDING SYSTEM VALUE VALUES (16, 'b111b111', 'null pointer in billing (0.cpp) · ledgerd 1.0', 'It crashed', 11, 'open', 1, 1793527215000, 1793527215000, 1, 'a key of our own', '', 0, '', 1, '1.0', 'billing@0
main@1
', '', 0, 0, 0, 1, '', 0);
INSERT INTO public.groups OVERRIDING SYSTEM VALUE VALUES (11, 'a4312c81aeff7850eaf50d0a56056a22', 'null pointer in worker_loop · ledgerd 1.0', 'It crashed', 11, 'resolved', 5, 1793527210000, 1793527214000, 2, '', '', 1795737210366, '=1.0', 2, '1.0', 'worker_loop
main@1
', '', 0, 0, 0, 1, '', 1793527213000);
INSERT INTO public.groups OVERRIDING SYSTEM VALUE VALUES (6, 'cfb465e1b02dd185d62b80e8afc0c191', 'null pointer in cache_evict · ledgerd 1.0', 'It crashed', 11, 'open', 3, 1793527205000, 1793527207000, 2, 'both of the cache', '', 0, '', 2, '1.0', 'cache_evict
cache_insert
main@2
', '', 0, 0, 0, 1, '', 1793527206000);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (1, 'abdcc087d21b2e44ed1b03d34ec91cf2', 1795737210241, 'status', '', 'ignored', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (2, 'abdcc087d21b2e44ed1b03d34ec91cf2', 1795737210241, 'note', '', 'only in tests', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (3, 'abdcc087d21b2e44ed1b03d34ec91cf2', 1795737210258, 'status', '', 'resolved after 1.1', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (4, 'abdcc087d21b2e44ed1b03d34ec91cf2', 1795737210258, 'assignee', '', 'kim', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (5, 'abdcc087d21b2e44ed1b03d34ec91cf2', 1795737210258, 'note', '', 'mended in 1.1', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (6, 'f1f3fc4092cf0eadb5f31545e6798f37', 1795737210276, 'status', '', 'ignored', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (7, 'f1f3fc4092cf0eadb5f31545e6798f37', 1795737210276, 'assignee', '', 'lee', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (8, 'f1f3fc4092cf0eadb5f31545e6798f37', 1795737210276, 'note', '', 'a fuzzer', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (9, 'cfb465e1b02dd185d62b80e8afc0c191', 1795737210293, 'note', '', 'both of the cache', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (10, '2bce1e8b0c4c382245ecbd878b63d5e8', 1795737210344, 'note', '', 'is apart', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (11, 'a4312c81aeff7850eaf50d0a56056a22', 1795737210366, 'status', '', 'resolved in 1.0', 1);
INSERT INTO public.history OVERRIDING SYSTEM VALUE VALUES (12, 'b111b111', 1795737210385, 'note', '', 'a key of our own', 1);
INSERT INTO public.keys VALUES ('b6ae1c2bda3ab9f1c467bc2e283b1dfb', 'abdcc087d21b2e44ed1b03d34ec91cf2', 1793527201000);
INSERT INTO public.keys VALUES ('5bdf669cc730f318770ad4b5319bae8b', 'abdcc087d21b2e44ed1b03d34ec91cf2', 1793527202000);
INSERT INTO public.keys VALUES ('aaad32f7346a8cff5761497755cab06a', 'f1f3fc4092cf0eadb5f31545e6798f37', 1793527204000);
INSERT INTO public.keys VALUES ('b0900cb2083c4ef5e6c827895d7f218c', '220a7d116660cfae878c7f7a129818bd', 1793527205000);
INSERT INTO public.keys VALUES ('e3934c33a97a80a62a55d1ae917932e7', 'cfb465e1b02dd185d62b80e8afc0c191', 1793527206000);
INSERT INTO public.keys VALUES ('6d61cda11684b6635fdc8ed4fce108bc', 'c59efa9fd8fbf8aeafb89a09e41e6112', 1793527208000);
INSERT INTO public.keys VALUES ('1a674c2e744b31324c1b44b35420a77f', '2bce1e8b0c4c382245ecbd878b63d5e8', 1793527209000);
INSERT INTO public.keys VALUES ('3bb597adfe5ba2d58a9546b056fc8d57', 'a4312c81aeff7850eaf50d0a56056a22', 1793527210000);
INSERT INTO public.marks VALUES (1, '["10\u000anull-dereference","23\u000aingest-#","24\u000anear null","27\u000aunder 100 frames","11\u000aledger::post","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000amain","12\u000asrc/1.cpp","11\u000a__libc_start_call_main","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.marks VALUES (2, '["10\u000anull-dereference","23\u000aingest-#","24\u000anear null","27\u000aunder 100 frames","11\u000aledger::post","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000amain","12\u000asrc/1.cpp","11\u000a__libc_start_call_main","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.marks VALUES (3, '["10\u000aassertion","14\u000aauth.cc:40: authorize: Assertion `token != nullptr'' failed.","23\u000aingest-#","27\u000aunder 100 frames","11\u000aabort","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__assert_fail","11\u000agw::authorize","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000amain","12\u000asrc/1.cpp","11\u000a__libc_start_call_main","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.marks VALUES (4, '["10\u000aassertion","14\u000aauth.cc:40: authorize: Assertion `size <= 16'' failed.","23\u000aingest-#","27\u000aunder 100 frames","11\u000aabort","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__assert_fail","11\u000agw::authorize","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000amain","12\u000asrc/1.cpp","11\u000a__libc_start_call_main","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.marks VALUES (6, '["10\u000anull-dereference","23\u000aingest-#","24\u000anear null","27\u000aunder 100 frames","11\u000acache_drop","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000acache_clear","12\u000asrc/1.cpp","11\u000amain","12\u000asrc/2.cpp","11\u000a__libc_start_call_main","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.marks VALUES (7, '["10\u000anull-dereference","23\u000aingest-#","24\u000anear null","27\u000aunder 100 frames","11\u000acache_evict","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000acache_insert","12\u000asrc/1.cpp","11\u000amain","12\u000asrc/2.cpp","11\u000a__libc_start_call_main","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.marks VALUES (8, '["10\u000anull-dereference","23\u000aingest-#","24\u000anear null","27\u000aunder 100 frames","11\u000aparse_value","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000amain","12\u000asrc/1.cpp","11\u000a__libc_start_call_main","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.marks VALUES (9, '["10\u000anull-dereference","23\u000aingest-#","24\u000anear null","27\u000aunder 100 frames","11\u000aread_config","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000amain","12\u000asrc/1.cpp","11\u000a__libc_start_call_main","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.marks VALUES (13, '["10\u000anull-dereference","23\u000aingest-#","24\u000anear null","27\u000aunder 100 frames","11\u000aworker_loop","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000amain","12\u000asrc/1.cpp","11\u000a__libc_start_call_main","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.marks VALUES (14, '["10\u000anull-dereference","23\u000aingest-#","24\u000anear null","27\u000aunder 100 frames","11\u000aworker_loop","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000amain","12\u000asrc/1.cpp","11\u000a__libc_start_call_main","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.marks VALUES (15, '["10\u000anull-dereference","23\u000aingest-#","24\u000anear null","27\u000aunder 100 frames","11\u000abilling","12\u000asrc/0.cpp","13\u000a6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7","11\u000amain","12\u000asrc/1.cpp","11\u000a__libc_start_call_main","13\u000af2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2","11\u000a__libc_start_main_impl","11\u000a_start"]');
INSERT INTO public.merged VALUES ('220a7d116660cfae878c7f7a129818bd', 'cfb465e1b02dd185d62b80e8afc0c191');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (1, '01a21a47-4d62-7001-8000-000000000001', 1, 1, 1793527201000, 1795737210211, 11, 'SIGSEGV', 'null pointer in ledger::post · ledgerd-1.0 1.0', 'It crashed', '1.0', 'production', '/opt/ledger/bin/ledgerd-1.0', 'ams-1', 'abdcc087d21b2e44ed1b03d34ec91cf2', 'b6ae1c2bda3ab9f1c467bc2e283b1dfb', '');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (2, '01a21a47-4d7c-7002-8000-000000000002', 1, 1, 1793527202000, 1795737210237, 11, 'SIGSEGV', 'null pointer in ledger::post · ledgerd-1.1 1.1', 'It crashed', '1.1', 'production', '/opt/ledger/bin/ledgerd-1.1', 'ams-1', 'abdcc087d21b2e44ed1b03d34ec91cf2', '5bdf669cc730f318770ad4b5319bae8b', '');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (3, '01a21a47-4da0-7003-8000-000000000003', 1, 3, 1793527203000, 1795737210272, 6, 'SIGABRT', 'assertion "token != nullptr" in gw::authorize · ledgerd 1.0', 'It crashed', '1.0', 'production', '/opt/ledger/bin/ledgerd', 'ams-1', 'd962b5ef1914c32f7f7632fbdcf73274', 'aaad32f7346a8cff5761497755cab06a', '');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (4, '01a21a47-4da2-7004-8000-000000000004', 1, 4, 1793527204000, 1795737210274, 6, 'SIGABRT', 'assertion "size <= 16" in gw::authorize · ledgerd 1.0', 'It crashed', '1.0', 'production', '/opt/ledger/bin/ledgerd', 'ams-1', 'f1f3fc4092cf0eadb5f31545e6798f37', 'aaad32f7346a8cff5761497755cab06a', '');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (6, '01a21a47-4db4-7006-8000-000000000006', 1, 6, 1793527206000, 1795737210292, 11, 'SIGSEGV', 'null pointer in cache_drop · ledgerd 1.0', 'It crashed', '1.0', 'production', '/opt/ledger/bin/ledgerd', 'ams-1', 'cfb465e1b02dd185d62b80e8afc0c191', 'e3934c33a97a80a62a55d1ae917932e7', '');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (7, '01a21a47-4dd4-7007-8000-000000000007', 1, 6, 1793527207000, 1795737210325, 11, 'SIGSEGV', 'null pointer in cache_evict · ledgerd 1.0', 'It crashed', '1.0', 'production', '/opt/ledger/bin/ledgerd', 'fra-2', '220a7d116660cfae878c7f7a129818bd', 'b0900cb2083c4ef5e6c827895d7f218c', '');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (9, '01a21a47-4dd7-7009-8000-000000000009', 1, 9, 1793527209000, 1795737210328, 11, 'SIGSEGV', 'null pointer in read_config · ledgerd 1.0', 'It crashed', '1.0', 'production', '/opt/ledger/bin/ledgerd', 'ams-1', '2bce1e8b0c4c382245ecbd878b63d5e8', '1a674c2e744b31324c1b44b35420a77f', '');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (8, '01a21a47-4dd6-7008-8000-000000000008', 1, 10, 1793527208000, 1795737210326, 11, 'SIGSEGV', 'null pointer in parse_value · ledgerd 1.0', 'It crashed', '1.0', 'production', '/opt/ledger/bin/ledgerd', 'ams-1', 'c59efa9fd8fbf8aeafb89a09e41e6112', '6d61cda11684b6635fdc8ed4fce108bc', '');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (13, '01a21a47-4dfc-700d-8000-00000000000d', 1, 11, 1793527213000, 1795737210364, 11, 'SIGSEGV', 'null pointer in worker_loop · ledgerd 1.0', 'It crashed', '1.0', 'production', '/opt/ledger/bin/ledgerd', 'ams-13', 'a4312c81aeff7850eaf50d0a56056a22', '3bb597adfe5ba2d58a9546b056fc8d57', '');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (14, '01a21a47-4dfd-700e-8000-00000000000e', 1, 11, 1793527214000, 1795737210365, 11, 'SIGSEGV', 'null pointer in worker_loop · ledgerd 1.0', 'It crashed', '1.0', 'production', '/opt/ledger/bin/ledgerd', 'ams-14', 'a4312c81aeff7850eaf50d0a56056a22', '3bb597adfe5ba2d58a9546b056fc8d57', '');
INSERT INTO public.reports OVERRIDING SYSTEM VALUE VALUES (15, '01a21a47-4e0e-700f-8000-00000000000f', 1, 16, 1793527215000, 1795737210383, 11, 'SIGSEGV', 'null pointer in billing (0.cpp) · ledgerd 1.0', 'It crashed', '1.0', 'production', '/opt/ledger/bin/ledgerd', 'ams-1', 'b111b111', '', '');
INSERT INTO public.tags VALUES (1, 'region', 'ams');
INSERT INTO public.tags VALUES (2, 'region', 'ams');
INSERT INTO public.tags VALUES (3, 'region', 'ams');
INSERT INTO public.tags VALUES (4, 'region', 'ams');
INSERT INTO public.tags VALUES (6, 'region', 'ams');
INSERT INTO public.tags VALUES (7, 'region', 'fra');
INSERT INTO public.tags VALUES (8, 'region', 'ams');
INSERT INTO public.tags VALUES (9, 'region', 'ams');
INSERT INTO public.tags VALUES (13, 'region', 'ams');
INSERT INTO public.tags VALUES (14, 'region', 'ams');
INSERT INTO public.tags VALUES (15, 'region', 'ams');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (1, 11, '__libc_start_call_main');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (2, 11, '__libc_start_main_impl');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (3, 11, '_start');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (4, 11, 'ledger::post');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (5, 11, 'main');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (6, 12, 'src/0.cpp');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (7, 12, 'src/1.cpp');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (8, 13, '6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (9, 13, 'f2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (10, 11, '__assert_fail');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (14, 11, 'abort');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (15, 11, 'gw::authorize');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (21, 14, 'auth.cc:40: authorize: Assertion `token != nullptr'' failed.');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (33, 14, 'auth.cc:40: authorize: Assertion `size <= 16'' failed.');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (37, 11, 'cache_evict');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (38, 11, 'cache_insert');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (42, 12, 'src/2.cpp');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (48, 11, 'cache_clear');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (49, 11, 'cache_drop');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (62, 11, 'parse_value');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (71, 11, 'read_config');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (90, 11, 'worker_loop');
INSERT INTO public.words OVERRIDING SYSTEM VALUE VALUES (98, 11, 'billing');
SELECT pg_catalog.setval('public.alerts_number_seq', 9, true);
SELECT pg_catalog.setval('public.audit_number_seq', 1, false);
SELECT pg_catalog.setval('public.facets_number_seq', 408, true);
SELECT pg_catalog.setval('public.groups_number_seq', 16, true);
SELECT pg_catalog.setval('public.history_number_seq', 12, true);
SELECT pg_catalog.setval('public.moves_number_seq', 3, true);
SELECT pg_catalog.setval('public.reports_number_seq', 15, true);
SELECT pg_catalog.setval('public.segments_number_seq', 1, false);
SELECT pg_catalog.setval('public.words_number_seq', 103, true);
ALTER TABLE ONLY public.alert_sends
    ADD CONSTRAINT alert_sends_pkey PRIMARY KEY (receiver, alert);
ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_once_key UNIQUE (once);
ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT alerts_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.asked_builds
    ADD CONSTRAINT asked_builds_pkey PRIMARY KEY (build);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.bodies
    ADD CONSTRAINT bodies_pkey PRIMARY KEY (report, received);
ALTER TABLE ONLY public.bodies_2969
    ADD CONSTRAINT bodies_2969_pkey PRIMARY KEY (report, received);
ALTER TABLE ONLY public.bodies_2970
    ADD CONSTRAINT bodies_2970_pkey PRIMARY KEY (report, received);
ALTER TABLE ONLY public.facets
    ADD CONSTRAINT facets_group_number_kind_value_key UNIQUE (group_number, kind, value);
ALTER TABLE ONLY public.facets
    ADD CONSTRAINT facets_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.group_days
    ADD CONSTRAINT group_days_pkey PRIMARY KEY (group_number, day);
ALTER TABLE ONLY public.groups
    ADD CONSTRAINT groups_fingerprint_key UNIQUE (fingerprint);
ALTER TABLE ONLY public.groups
    ADD CONSTRAINT groups_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.held_back
    ADD CONSTRAINT held_back_pkey PRIMARY KEY (fingerprint, id);
ALTER TABLE ONLY public.history
    ADD CONSTRAINT history_group_id_kind_other_detail_key UNIQUE (group_id, kind, other, detail);
ALTER TABLE ONLY public.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (report);
ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (fingerprint);
ALTER TABLE ONLY public.logins
    ADD CONSTRAINT logins_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.marks
    ADD CONSTRAINT marks_pkey PRIMARY KEY (report);
ALTER TABLE ONLY public.merged
    ADD CONSTRAINT merged_pkey PRIMARY KEY (fingerprint);
ALTER TABLE ONLY public.moves
    ADD CONSTRAINT moves_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.nameless
    ADD CONSTRAINT nameless_pkey PRIMARY KEY (build, report);
ALTER TABLE ONLY public.object_parts
    ADD CONSTRAINT object_parts_pkey PRIMARY KEY (name, part);
ALTER TABLE ONLY public.object_place
    ADD CONSTRAINT object_place_pkey PRIMARY KEY (one);
ALTER TABLE ONLY public.places
    ADD CONSTRAINT places_pkey PRIMARY KEY (build, place);
ALTER TABLE ONLY public.reports
    ADD CONSTRAINT reports_id_key UNIQUE (id);
ALTER TABLE ONLY public.reports
    ADD CONSTRAINT reports_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.segments
    ADD CONSTRAINT segments_name_key UNIQUE (name);
ALTER TABLE ONLY public.segments
    ADD CONSTRAINT segments_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (project, session);
ALTER TABLE ONLY public.start_batches
    ADD CONSTRAINT start_batches_pkey PRIMARY KEY (project, id);
ALTER TABLE ONLY public.start_days
    ADD CONSTRAINT start_days_pkey PRIMARY KEY (project, release, hostname, day);
ALTER TABLE ONLY public.start_hosts
    ADD CONSTRAINT start_hosts_pkey PRIMARY KEY (project, release, hostname);
ALTER TABLE ONLY public.start_sums
    ADD CONSTRAINT start_sums_pkey PRIMARY KEY (project, day, release, part);
ALTER TABLE ONLY public.symbol_files
    ADD CONSTRAINT symbol_files_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.symbols
    ADD CONSTRAINT symbols_pkey PRIMARY KEY (build);
ALTER TABLE ONLY public.tags
    ADD CONSTRAINT tags_pkey PRIMARY KEY (report, key);
ALTER TABLE ONLY public.words
    ADD CONSTRAINT words_kind_value_key UNIQUE (kind, value);
ALTER TABLE ONLY public.words
    ADD CONSTRAINT words_pkey PRIMARY KEY (number);
CREATE INDEX alerts_by_group ON public.alerts USING btree (group_id, kind, "time");
CREATE INDEX alerts_by_time ON public.alerts USING btree ("time");
CREATE INDEX bodies_staged ON ONLY public.bodies USING btree (received, report) WHERE (segment = '-1'::integer);
CREATE INDEX bodies_2969_received_report_idx ON public.bodies_2969 USING btree (received, report) WHERE (segment = '-1'::integer);
CREATE INDEX bodies_of_segments ON ONLY public.bodies USING btree (segment) WHERE (segment > 0);
CREATE INDEX bodies_2969_segment_idx ON public.bodies_2969 USING btree (segment) WHERE (segment > 0);
CREATE INDEX bodies_2970_received_report_idx ON public.bodies_2970 USING btree (received, report) WHERE (segment = '-1'::integer);
CREATE INDEX bodies_2970_segment_idx ON public.bodies_2970 USING btree (segment) WHERE (segment > 0);
CREATE INDEX facet_search ON public.facets USING gin (value public.gin_trgm_ops) WHERE (kind <= 5);
CREATE INDEX facets_by_value ON public.facets USING btree (kind, value, group_number) WHERE (kind >= 3);
CREATE INDEX groups_by_count ON public.groups USING btree (count, number);
CREATE INDEX groups_by_last_seen ON public.groups USING btree (last_seen, number);
CREATE INDEX groups_by_machines ON public.groups USING btree (machines, number);
CREATE INDEX groups_by_project ON public.groups USING btree (project, last_seen, number);
CREATE INDEX held_back_by_received ON public.held_back USING btree (received);
CREATE INDEX jobs_by_rank ON public.jobs USING btree (rank, report);
CREATE INDEX keys_by_target ON public.keys USING btree (target);
CREATE INDEX merged_by_target ON public.merged USING btree (target);
CREATE INDEX nameless_by_report ON public.nameless USING btree (report);
CREATE INDEX reports_by_group ON public.reports USING btree (group_number, "time", number) INCLUDE (release, environment, hostname, signal_name);
CREATE INDEX reports_by_received ON public.reports USING btree (received);
CREATE INDEX reports_by_time ON public.reports USING btree ("time", number);
CREATE INDEX sessions_by_day ON public.sessions USING btree (day);
CREATE INDEX sessions_by_host ON public.sessions USING btree (release, hostname, day, project);
CREATE INDEX start_batches_by_day ON public.start_batches USING btree (day);
CREATE INDEX start_days_by_day ON public.start_days USING btree (day);
CREATE INDEX start_hosts_by_starts ON public.start_hosts USING btree (project, begun DESC, release, hostname);
CREATE INDEX start_hosts_of_release ON public.start_hosts USING btree (project, release, begun DESC, hostname);
CREATE INDEX symbol_files_by_name ON public.symbol_files USING btree (name);
CREATE INDEX tags_by_value ON public.tags USING btree (key, value, report);
CREATE INDEX word_search ON public.words USING gin (value public.gin_trgm_ops);
ALTER INDEX public.bodies_pkey ATTACH PARTITION public.bodies_2969_pkey;
ALTER INDEX public.bodies_staged ATTACH PARTITION public.bodies_2969_received_report_idx;
ALTER INDEX public.bodies_of_segments ATTACH PARTITION public.bodies_2969_segment_idx;
ALTER INDEX public.bodies_pkey ATTACH PARTITION public.bodies_2970_pkey;
ALTER INDEX public.bodies_staged ATTACH PARTITION public.bodies_2970_received_report_idx;
ALTER INDEX public.bodies_of_segments ATTACH PARTITION public.bodies_2970_segment_idx;
CREATE TRIGGER facet_added AFTER INSERT ON public.facets FOR EACH ROW WHEN (((new.kind = 4) OR ((new.kind >= 11) AND (new.kind <= 14)))) EXECUTE FUNCTION public.crashhook_facet_added();
CREATE TRIGGER machine_removed AFTER DELETE ON public.facets FOR EACH ROW WHEN ((old.kind = 4)) EXECUTE FUNCTION public.crashhook_machine_removed();
CREATE TRIGGER session_added AFTER INSERT ON public.sessions FOR EACH ROW EXECUTE FUNCTION public.crashhook_session_added();
CREATE TRIGGER starts_added AFTER INSERT ON public.start_days FOR EACH ROW EXECUTE FUNCTION public.crashhook_starts_added();
CREATE TRIGGER starts_grown AFTER UPDATE ON public.start_days FOR EACH ROW EXECUTE FUNCTION public.crashhook_starts_grown();
CREATE TRIGGER starts_removed AFTER DELETE ON public.start_days FOR EACH ROW EXECUTE FUNCTION public.crashhook_starts_removed();
